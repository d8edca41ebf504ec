// A heartbeat: a timer asks the agent whether there is anything to do, and delivers what it says only if there is.
//
//   node heartbeat.mjs --workspace example --address 127.0.0.1:50051 --every 1800 --beats 1
//
// Replace `ask` with your model.
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";

import { Promptd } from "promptd";

const { values } = parseArgs({
  options: {
    workspace: { type: "string", default: "example" },
    address: { type: "string", default: "127.0.0.1:50051" },
    every: { type: "string", default: "1800" },
    beats: { type: "string", default: "Infinity" },
  },
});
const client = new Promptd(values.address);
const session = client.session(values.workspace, { heartbeat: true, format: "anthropic-messages" });

// Your model goes here: `anthropic.messages.create({ model, max_tokens, ...prompt.forAnthropic() })`.
async function ask(prompt) {
  return prompt.forAnthropic().system.some(({ text }) => text.includes("HEARTBEAT_OK")) ? "HEARTBEAT_OK" : "What is a heartbeat?";
}

for (let beat = 1; ; beat++) {
  const prompt = await session.assemble({ now: new Date() });
  const reply = await client.parseReply(values.workspace, await ask(prompt), { heartbeat: true });
  console.log(reply.heartbeatOk ? "nothing to do" : reply.text);
  if (beat >= Number(values.beats)) break;
  await setTimeout(Number(values.every) * 1000);
}
client.close();
