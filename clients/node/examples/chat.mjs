// A chat loop. The session holds what the service sent, so that each turn brings only what changed; while the service is away,
// the prompt of before is used, with the conversation of now.
//
//   node chat.mjs --workspace example --address 127.0.0.1:50051
//
// Type a line, get a reply; end with Ctrl-D. Replace `ask` with your model.
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Memory, Promptd } from "promptd";

const { values } = parseArgs({
  options: { workspace: { type: "string", default: "example" }, address: { type: "string", default: "127.0.0.1:50051" } },
});
const client = new Promptd(values.address, { lastGood: new Memory() });
const session = client.session(values.workspace, { format: "openai-chat" });
session.onChange(({ changedPaths }) => changedPaths.length && console.log(`[edited: ${changedPaths.join(", ")}]`));

// Your model goes here: `openai.chat.completions.create({ model, ...prompt.forOpenai() })`.
async function ask(prompt) {
  return `(a model would now read ${prompt.forOpenai().messages.length} messages)`;
}

const messages = [];
for await (const line of createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: line });
  const prompt = await session.assemble({ now: new Date(), conversation: { messages } });
  if (prompt.stale) console.log(`[the service is away; this prompt is ${Math.round(prompt.ageMs / 1000)} s old]`);
  const reply = await ask(prompt);
  messages.push({ role: "assistant", content: reply });
  console.log(reply);
}
session.close();
client.close();
