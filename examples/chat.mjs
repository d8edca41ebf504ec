// A chat loop that holds what it has: it sends the digests of the messages it knows, and gets only the others.
//
//   npm install --prefix examples
//   node examples/chat.mjs --workspace example --target 127.0.0.1:50051
//
// Type a line, get a reply; end with Ctrl-D. replace `ask` with your model.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values } = parseArgs({
  options: {
    workspace: { type: "string", default: "example" },
    target: { type: "string", default: "127.0.0.1:50051" },
  },
});

const definition = protoLoader.loadSync("promptd/v1/promptd.proto", { includeDirs: [here("../proto")], enums: String });
const { promptd } = grpc.loadPackageDefinition(definition);
const client = new promptd.v1.PromptService(values.target, grpc.credentials.createInsecure(), {
  "grpc.service_config": readFileSync(here("service_config.json"), "utf8"),
});
const assemblePrompt = promisify(client.assemblePrompt.bind(client));

const TIMEOUT_MS = 5_000;

// Digest to content, of every message that the service has sent.
const held = new Map();

// The messages for the model: those that the service left empty are filled from `held`.
async function prompt(turn) {
  const request = { workspaceId: values.workspace, turn, ifNoneMatch: [...held.keys()] };
  const answer = await assemblePrompt(request, { deadline: Date.now() + TIMEOUT_MS });
  for (const message of answer.messages) {
    if (message.notModified) message.content = held.get(message.digest);
    else held.set(message.digest, message.content);
  }
  const sent = answer.messages.filter((message) => !message.notModified);
  console.log(`[${answer.messages.length} messages, new: ${sent.map((m) => m.name || m.role).join(", ")}]`);
  // Forget what this prompt no longer has, so that the list stays as long as the prompt.
  const current = new Set(answer.messages.map((message) => message.digest));
  for (const digest of held.keys()) if (!current.has(digest)) held.delete(digest);
  return answer.messages;
}

// Your model goes here.
async function ask(messages) {
  const characters = messages.reduce((sum, message) => sum + message.content.length, 0);
  return `(a model would now read ${characters} characters)`;
}

const messages = [];
for await (const line of createInterface({ input: process.stdin })) {
  messages.push({ role: "ROLE_USER", content: line });
  const reply = await ask(await prompt({ conversation: { messages } }));
  messages.push({ role: "ROLE_ASSISTANT", content: reply });
  console.log(reply);
}
client.close();
