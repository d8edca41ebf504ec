// What goes wrong, one by one: the error says what, where, and what to do.
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Promptd, PromptdError } from "promptd";

import { PATIENCE_MS, serve } from "./server.mjs";

const TOKEN = "x".repeat(32);

let server;
let client;
before(async () => {
  server = await serve();
  client = new Promptd(server.address);
});
after(async () => {
  client.close();
  await server.stop();
});

async function refused(call) {
  const error = await Promise.resolve(call).then(() => assert.fail("the call must fail"), (thrown) => thrown);
  assert.ok(error instanceof PromptdError, error?.stack);
  return error;
}

// Nothing of these is sent: there is nobody at the address.
const NOT_SENT = [
  ["a misspelt field", { usr: { name: "Dana" } }, "usr", /`usr` .*did you mean `user`\?/],
  ["a misspelt field within", { user: { nmae: "Dana" } }, "user.nmae", /`user.nmae` is not a field of User; did you mean `name`\?/],
  ["a field in snake case", { time_zone: "UTC" }, "time_zone", /did you mean `timeZone`\?/],
  ["a field that is like none", { quux: 1 }, "quux", /known are agent, user/],
  ["a text for an object", { user: "Dana" }, "user", /must be an object, not text/],
  ["a text for a truth value", { heartbeat: "false" }, "heartbeat", /must be true or false, not text/],
  ["an object for an array", { knowledge: {} }, "knowledge", /must be an array, not an object/],
  ["null", { persona: null }, "persona", /must be text, not null/],
  ["a number for a time", { now: 1772332200 }, "now", /must be a valid Date.*not 1772332200/],
  ["a time that is none", { now: new Date("soon") }, "now", /not an invalid Date/],
  ["a part of a number", { budget: { max: 1.5 } }, "budget.max", /must be a whole number.*not 1.5/],
  ["a negative index", { conversation: { firstIndex: -1 } }, "conversation.firstIndex", /must be a whole number, 0 or more, not -1/],
  ["a misspelt role", { conversation: { messages: [{ role: "usr" }] } }, "conversation.messages[0].role", /not "usr"; did you mean "user"\?/],
  ["a format by another name", { format: "openai" }, "format", /must be one of "text", "openai-chat".*not "openai"/],
  ["a number that is not exact", { variables: { ticket: 2 ** 60 } }, "variables.ticket", /send it as text/],
  ["a value that is not JSON", { inputs: { list: [new Date()] } }, "inputs.list[0]", /must be JSON.*not a Date/],
];
for (const [name, options, field, message] of NOT_SENT)
  test(`${name} is not sent`, async () => {
    const error = await refused(new Promptd("127.0.0.1:1").assemble("example", options));
    assert.deepEqual([error.code, error.reason], ["invalid_argument", "INVALID_REQUEST"]);
    assert.deepEqual(error.violations.map((violation) => violation.field), [field]);
    assert.match(error.message, message);
  });

test("all faults are named at once", async () => {
  const error = await refused(client.assemble("example", { user: { id: 7, nam: "x" }, persona: 1 }));
  assert.deepEqual(error.violations.map(({ field }) => field).sort(), ["persona", "user.id", "user.nam"]);
});

test("an option, an address and a file that cannot be used", () => {
  assert.throws(() => new Promptd("127.0.0.1:1", { tokn: TOKEN }), /did you mean `token`\?/);
  assert.throws(() => new Promptd(""), /is not an address; give host and port/);
  assert.throws(() => new Promptd([]), /no address/);
  assert.throws(() => new Promptd("127.0.0.1:1", { tls: { caFile: "/nowhere.pem" } }), /`tls.caFile` cannot be read: ENOENT/);
});

test("a workspace that is not there", async () => {
  const error = await refused(client.assemble("harbour", {}, { requestId: "call-7" }));
  assert.deepEqual([error.code, error.reason, error.requestId], ["not_found", "WORKSPACE_NOT_FOUND", "call-7"]);
  assert.match(error.message, /^AssemblePrompt: there is no workspace `harbour`; ListWorkspaces lists/);
});

test("a value that the service refuses", async () => {
  const error = await refused(client.assemble("example", { timeZone: "Mars/Olympus" }));
  assert.equal(error.code, "invalid_argument");
  assert.deepEqual(error.violations.map(({ field }) => field), ["turn.time_zone"]);
  assert.match(error.violations[0].description, /IANA/);
  assert.ok(error.requestId);
});

test("a field that is locked, and a prompt with a loss", async () => {
  assert.equal((await refused(client.assemble("locked", { persona: "x" }))).reason, "FIELD_LOCKED");
  const loss = await refused(client.assemble("example", { strict: true }));
  assert.deepEqual([loss.reason, loss.violations[0].field], ["PROMPT_LOSS", "workspace_context/docs/RUNBOOK.md"]);
});

test("no server", async () => {
  const error = await refused(new Promptd("127.0.0.1:1").assemble("example"));
  assert.deepEqual([error.code, error.reason], ["unavailable", ""]);
  assert.match(error.message, /no promptd answers at 127.0.0.1:1 \(connect ECONNREFUSED .*`promptd serve` starts one/);
  const nameless = await refused(new Promptd("nowhere.invalid:50051").assemble("example", {}, { timeoutMs: 2_000 }));
  assert.match(nameless.message, /no promptd answers at nowhere.invalid:50051/);
});

test("a deadline", async () => {
  const sockets = [];
  const silent = createServer((socket) => sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `127.0.0.1:${silent.address().port}`;
  const began = performance.now();
  const error = await refused(new Promptd(address, { timeoutMs: 300 }).assemble("example"));
  assert.equal(error.code, "deadline_exceeded");
  assert.match(error.message, new RegExp(`${address} did not answer in 300 ms; .*timeoutMs`));
  assert.ok(performance.now() - began < PATIENCE_MS);
  sockets.forEach((socket) => socket.destroy());
  silent.close();
});

test("a call that its caller ends", async () => {
  const signal = AbortSignal.abort();
  assert.equal((await refused(client.assemble("example", {}, { signal }))).code, "canceled");
});

test("a token that is bad, missing, or for another workspace", async () => {
  const tokens_file = join(server.workspaces, "../tokens.yaml");
  writeFileSync(tokens_file, JSON.stringify({ tokens: [{ name: "desk", token: TOKEN, workspaces: ["example"] }] }));
  const guarded = await serve({ auth: { tokens_file } });
  const as = (options) => new Promptd(guarded.address, options);
  assert.ok((await as({ token: TOKEN }).assemble("example")).messages.length);
  const unknown = await refused(as({ token: "y".repeat(32) }).assemble("example"));
  assert.deepEqual([unknown.code, unknown.reason], ["unauthenticated", "TOKEN_UNKNOWN"]);
  assert.equal((await refused(as({}).assemble("example"))).reason, "TOKEN_MISSING");
  assert.equal((await refused(as({ token: TOKEN }).assemble("locked"))).reason, "WORKSPACE_FORBIDDEN");
  await guarded.stop();
});

test("an answer over the limit", async () => {
  const small = new Promptd(server.address, { maxAnswerBytes: 1_000 });
  const error = await refused(small.assemble("example"));
  assert.equal(error.code, "resource_exhausted");
  assert.match(error.message, /the answer is too large.*`maxAnswerBytes`/);
  small.close();
});

test("arguments of a format that the prompt has not", async () => {
  const prompt = await client.assemble("example", { format: "gemini" });
  assert.throws(() => prompt.forAnthropic(), /assembled with format "gemini"; assemble it with `format: "anthropic-messages"`/);
});
