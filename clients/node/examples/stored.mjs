// A chat loop whose conversation the service keeps: each message is sent once, and a turn names the session.
//
//   promptd serve --memory memory
//   node stored.mjs --session dana-1 --address 127.0.0.1:50051
//
// Started again with the same session, it goes on where it was. Type a line, get a reply; end with Ctrl-D. Replace `ask` with your model.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Promptd } from "promptd";

const { values } = parseArgs({
  options: {
    workspace: { type: "string", default: "example" },
    session: { type: "string", default: "chat" },
    address: { type: "string", default: "127.0.0.1:50051" },
  },
});
const { workspace, session: sessionId } = values;
const client = new Promptd(values.address);
const session = client.session(workspace, { sessionId, format: "openai-chat" });

// Your model goes here: `openai.chat.completions.create({ model, ...prompt.forOpenai() })`.
async function ask(prompt) {
  return `(a model would now read ${prompt.forOpenai().messages.length} messages)`;
}

// The id is made once, so that the client can send the message again without doubling it.
const append = (role, content) => client.conversations.append(workspace, sessionId, [{ id: randomUUID(), role, content }]);

for await (const line of createInterface({ input: process.stdin })) {
  await append("user", line);
  const prompt = await session.assemble({ now: new Date() });
  console.log(`[position ${prompt.sessionPosition}]`);
  const reply = await ask(prompt);
  await append("assistant", reply);
  console.log(reply);
}
client.close();
