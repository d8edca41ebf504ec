// The programs of the README, the manual and the examples, run as printed, except for the address.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "node:stream/consumers";

import { ROOT, serve } from "./server.mjs";
import { provider } from "./stub.mjs";

let server;
let stub;
before(async () => {
  server = await serve();
  stub = await provider();
});
after(async () => {
  stub.stop();
  await server.stop();
});

// What a program prints.
async function run(program, input, ...args) {
  const env = { ...process.env, OPENAI_BASE_URL: `${stub.url}/v1`, OPENAI_API_KEY: "none", ANTHROPIC_BASE_URL: stub.url, ANTHROPIC_API_KEY: "none" };
  const child = spawn(process.execPath, program ? [program, ...args] : ["--input-type=module"], { env, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(input);
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.equal(code, 0, printed);
  return printed;
}

const programs = (path) => [...readFileSync(join(ROOT, path), "utf8").matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
const PRINTS = {
  "clients/node/README.md": [/^--- skeleton\nYou are/],
  "docs/clients/node.md": [
    /^system skeleton \d+[^]*CONTEXT_FILE_TRUNCATED docs\/RUNBOOK.md/, /^example Harbor\n[^]*\ntrue\n$/, /^invalid_argument INVALID_REQUEST [^]*turn.time_zone `Mars/, /^4$/m,
    /^0 user Where can I berth\?\n1 assistant Berth 4 is free\.\n$/, /^$/, /^$/,
  ],
};
for (const [path, prints] of Object.entries(PRINTS)) {
  test(`${path} has as many programs as are checked`, () => assert.equal(programs(path).length, prints.length));
  for (const [index, expected] of prints.entries())
    test(`${path}: program ${index + 1}`, async () => {
      assert.match(await run(undefined, programs(path)[index].replaceAll("127.0.0.1:50051", server.address)), expected);
    });
}

const example = (name) => join(import.meta.dirname, "node_modules/promptd/examples", name);

test("the chat loop", async () => {
  const printed = await run(example("chat.mjs"), "Hello\nAnd now?\n", "--address", server.address);
  assert.equal(printed, "(a model would now read 4 messages)\n(a model would now read 6 messages)\n");
});

test("a stored chat goes on where it was", async () => {
  for (const position of [1, 3]) {
    const printed = await run(example("stored.mjs"), "Hello\n", "--session", "printed", "--address", server.address);
    assert.equal(printed, `[position ${position}]\n(a model would now read ${3 + position} messages)\n`);
  }
});

test("the sub-agent", async () => {
  const printed = await run(example("subagent.mjs"), "", "Find a berth.", "--skills", "berth-*", "--address", server.address);
  assert.match(printed, /^skeleton: \d+ characters, kept\n[^]*^ephemeral: \d+ characters, this turn only\n[^]*Task: Find a berth\.\n$/m);
});

test("the heartbeat", async () => {
  const printed = await run(example("heartbeat.mjs"), "", "--address", server.address, "--every", "0", "--beats", "2");
  assert.equal(printed, "nothing to do\nnothing to do\n");
});
