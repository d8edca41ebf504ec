// Answers of before, while the service is away.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Memory, Promptd } from "promptd";

import { serve } from "./server.mjs";

const user = { name: "Dana" };
const now = new Date("2026-03-01T02:30:00Z");
const said = (...messages) => ({ messages: messages.map(([role, content]) => ({ role, content })) });
const text = (prompt) => prompt.messages.map((message) => message.content).join("\n");

// Runs with a server, a client, and its store; the client's token is one that the server knows.
async function away(options, use) {
  const server = await serve(options.settings);
  const client = new Promptd(server.address, { lastGood: new Memory(), ...options.client });
  try {
    await use(client, server);
  } finally {
    client.close();
    await server.stop();
  }
}

test("a server that is killed under a stream: no call fails, and the first after a restart is fresh", () =>
  away({}, async (client, server) => {
    const session = client.session("example", { profile: "lucidpal", now, conversation: said(["user", "Hello"]) });
    await new Promise((resolve) => session.onChange(resolve));
    const fresh = await session.assemble();
    await server.kill();
    const stale = await session.assemble();
    assert.deepEqual([stale.stale, text(stale), stale.revision], [true, text(fresh), fresh.revision]);
    assert.ok(stale.ageMs > 0 && stale.ageMs < 60_000);
    await server.start();
    const again = await session.assemble();
    assert.deepEqual([again.stale, again.messages], [false, fresh.messages]);
    session.close();
  }));

test("without a store a call fails, and so do others than those of before", () =>
  away({}, async (client, server) => {
    const plain = new Promptd(server.address);
    const { revision } = await plain.assemble("example", { user });
    await client.assemble("example", { user, profile: "cache-first", format: "gemini" });
    await server.kill();
    const down = { code: "unavailable" };
    await assert.rejects(plain.assemble("example", { user }), down);
    const kept = { user, profile: "cache-first", format: "gemini" };
    assert.equal((await client.assemble("example", kept)).stale, true);
    // The key is all of the turn but four fields; a pinned or a strict call is never answered so.
    for (const other of [{ format: "text" }, { profile: "kern" }, { user: { name: "Kim" } }, { variables: { a: 1 } }, { persona: "x" },
      { heartbeat: true }, { revision }, { strict: true }])
      await assert.rejects(client.assemble("example", { ...kept, ...other }), down, JSON.stringify(other));
    await assert.rejects(client.assemble("locked", kept), down);
    for (const same of [{ now }, { knowledge: [{ content: "x" }] }, { conversationSummary: "x" }, { conversation: said(["user", "x"]) }])
      assert.equal((await client.assemble("example", { ...kept, ...same })).stale, true, JSON.stringify(same));
    plain.close();
  }));

test("conversation, knowledge and summary are the caller's own, or not there", () =>
  away({}, async (client, server) => {
    const secrets = { knowledge: [{ content: "OLD-SNIPPET" }], conversationSummary: "OLD-SUMMARY" };
    const first = await client.assemble("example", { user, now, conversation: said(["user", "OLD-WORDS"]), ...secrets });
    for (const old of ["OLD-SNIPPET", "OLD-SUMMARY", "OLD-WORDS"]) assert.ok(text(first).includes(old));
    await server.kill();
    const conversation = said(["user", "New words"], ["assistant", "I see."]);
    const stale = await client.assemble("example", { user, now, conversation });
    assert.ok(!text(stale).includes("OLD-"));
    assert.deepEqual(stale.messages.slice(-2).map(({ role, content, conversationIndex }) => [role, content, conversationIndex]),
      [["user", "New words", 0], ["assistant", "I see.", 1]]);
    assert.equal(stale.size.chars, text(stale).length - (stale.messages.length - 1));
    assert.ok(!text(await client.assemble("example", { user, now })).includes("New words"));
    // Only the service knows whether a workspace takes system messages in a conversation.
    await assert.rejects(client.assemble("example", { user, now, conversation: said(["system", "x"]) }), { code: "unavailable" });
  }));

test("system messages behind the conversation stay there", () =>
  away({}, async (client, server) => {
    const options = { profile: "cache-first", now, conversation: said(["user", "Hello"]) };
    const fresh = await client.assemble("example", options);
    await server.kill();
    const stale = await client.assemble("example", options);
    const system = ({ messages }) => messages.map(({ role, content }) => (role === "system" ? content : role));
    assert.deepEqual(system(stale), system(fresh));
    assert.equal(stale.messages.at(-2).role, "user");
  }));

// Without marks for caches, and the parts that OpenRouter's texts have to carry them: what differs on purpose.
function unmarked(rendered) {
  const plain = (_key, value) => {
    if (Array.isArray(value)) return value.filter((item) => !item?.cachePoint);
    if (value?.cache_control) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== "cache_control"));
    return value?.role === "system" && Array.isArray(value.content) ? { ...value, content: value.content[0].text } : value;
  };
  return JSON.parse(JSON.stringify(rendered, plain));
}

for (const format of ["text", "openai-chat", "openai-responses", "anthropic-messages", "gemini", "openrouter-chat", "bedrock-converse"])
  test(`a stale prompt is rendered as the service does: ${format}`, () =>
    away({}, async (client, server) => {
      const toolCalls = [{ id: "c1", name: "tide", argumentsJson: '{"port":"Kiel"}' }, { id: "c2", name: "log", argumentsJson: "" }];
      const conversation = { messages: [
        { role: "user", content: "When is high tide?", name: "Dana" },
        { role: "assistant", toolCalls },
        { role: "tool", content: "14:05", toolCallId: "c1" },
        { role: "tool", content: "noted", toolCallId: "c2" },
        { role: "assistant", content: "At 14:05." },
        { role: "user", content: "Thanks" },
        { role: "user", content: "And the next?" },
      ] };
      // This profile shows a conversation as it is.
      const options = { now, profile: "lucidpal", format, conversation };
      const fresh = await client.assemble("example", options);
      await server.kill();
      const stale = await client.assemble("example", options);
      assert.deepEqual([stale.stale, unmarked(stale.rendered)], [true, unmarked(fresh.rendered)]);
    }));

test("a token's answers are for that token, and one that is refused is forgotten", async () => {
  const tokens_file = join(mkdtempSync(join(tmpdir(), "tokens-")), "tokens.yaml");
  const write = (...tokens) => writeFileSync(tokens_file, JSON.stringify({ tokens: tokens.map((token) => ({ name: token[0], token, workspaces: ["example"] })) }));
  const [mine, others] = ["m".repeat(32), "o".repeat(32)];
  write(mine, others);
  const lastGood = new Memory();
  await away({ settings: { auth: { tokens_file } }, client: { token: mine, lastGood } }, async (client, server) => {
    await client.assemble("example");
    const other = new Promptd(server.address, { token: others, lastGood });
    await server.kill();
    assert.equal((await client.assemble("example")).stale, true);
    await assert.rejects(other.assemble("example"), { code: "unavailable" });
    write(others);
    await server.start();
    await assert.rejects(client.assemble("example"), { code: "unauthenticated" });
    await server.kill();
    await assert.rejects(client.assemble("example"), { code: "unavailable" });
    other.close();
  });
});

test("a folder: for its owner alone, and without what is ephemeral", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "lastgood-")), "answers");
  const token = "t".repeat(32);
  const options = { user, now, format: "openai-chat", ephemeralSystemPrompt: "EPHEMERAL-TASK", conversation: said(["user", "SAID-WORDS"]) };
  await away({ client: { lastGood: folder, token } }, async (client, server) => {
    await client.assemble("example", options);
    const names = readdirSync(folder);
    assert.equal(names.length, 1);
    const file = join(folder, names[0]);
    assert.match(names[0], /^[0-9a-f]{64}\.json$/);
    assert.deepEqual([statSync(folder).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o600]);
    for (const secret of ["EPHEMERAL-TASK", "SAID-WORDS", token]) assert.ok(!readFileSync(file, "utf8").includes(secret), secret);
    await server.kill();
    // This program holds it in memory; one that starts again has the folder alone.
    assert.ok(text(await client.assemble("example", options)).includes("EPHEMERAL-TASK"));
    const restarted = new Promptd(server.address, { lastGood: folder, token });
    const stale = await restarted.assemble("example", options);
    assert.deepEqual([stale.stale, stale.messages.at(-1).content], [true, "SAID-WORDS"]);
    assert.ok(!JSON.stringify(stale).includes("EPHEMERAL-TASK"));
    assert.equal(stale.forOpenai().messages.length, stale.messages.length);
    writeFileSync(file, "{");
    await assert.rejects(new Promptd(server.address, { lastGood: folder, token }).assemble("example", options), { code: "unavailable" });
  });
});

test("a store that fails fails no call", () =>
  away({ client: { lastGood: "/dev/null/nowhere" } }, async (client) => assert.equal((await client.assemble("example")).stale, false)));
