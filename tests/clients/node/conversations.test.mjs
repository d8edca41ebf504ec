// Stored conversations, against the real server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Conversations, Memory, Promptd } from "promptd";

import { all, ROOT, serve } from "./server.mjs";

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

const now = new Date(0);
const said = (id, content, role = "user") => ({ id: String(id), role, content });
const turns = (from, end) =>
  Array.from({ length: end - from }, (_, index) => said(from + index, `Berth ${from + index} is free.`, (from + index) % 2 ? "assistant" : "user"));
const texts = (messages) => messages.map(({ message }) => message.content);

test("there is a method for every RPC", () => {
  const service = /service SessionService \{(.*?)\n\}/s.exec(readFileSync(join(ROOT, "proto/promptd/v1/session.proto"), "utf8"))[1];
  const rpcs = [...service.matchAll(/rpc (\w+)\(/g)].map(([, name]) => name);
  const methods = {
    AppendMessages: "append", ListSessions: "list", GetSession: "get", ListMessages: "messages", ListSegments: "segments", ListNotesSummaries: "notes",
    ExportSession: "export",
    DeleteSession: "delete", WatchSession: "watch", ForkSession: "fork", TruncateSession: "truncate", Recall: "recall", GetRecallStats: "stats",
  };
  assert.deepEqual(rpcs.toSorted(), Object.keys(methods).toSorted());
  for (const name of Object.values(methods)) assert.equal(typeof Conversations.prototype[name], "function", name);
});

for (const protocol of ["grpc", "connect"])
  test(`each message is sent once by ${protocol}, and the prompt has them all`, async () => {
    const caller = new Promptd(server.address, { protocol });
    const [stored, id] = [caller.conversations, `once-${protocol}`];
    const first = await stored.append("example", id, [said(1, "Any berth free?")], { expectedPosition: 0 });
    assert.deepEqual([first.stored, first.session.position, first.session.userMessages], [1, 1, 1]);
    const again = await stored.append("example", id, [said(1, "Any berth free?"), said(2, "Berth 4.", "assistant")]);
    assert.deepEqual([again.stored, again.session.messageCount], [1, 2]);
    const prompt = await caller.assemble("example", { sessionId: id, now });
    const messages = [said("", "Any berth free?"), said("", "Berth 4.", "assistant")];
    const brought = await caller.assemble("example", { conversation: { messages }, now });
    assert.deepEqual([prompt.digest, prompt.sessionPosition], [brought.digest, 2]);
    const before = await caller.assemble("example", { sessionId: id, sessionPosition: 1, now });
    assert.notEqual(before.digest, prompt.digest);
    // There are no messages here to put in their place.
    const referenced = await caller.assemble("example", { sessionId: id, now, referenceConversation: true });
    assert.deepEqual(referenced.messages, prompt.messages);
    caller.close();
  });

test("what is wrong is said", async () => {
  const stored = client.conversations;
  await stored.append("example", "wrong", [said(1, "One.")]);
  await assert.rejects(stored.append("example", "wrong", [said(1, "Two.")]), { reason: "MESSAGE_DIFFERS" });
  await assert.rejects(stored.append("example", "wrong", [said(2, "Two.")], { expectedPosition: 0 }), { reason: "SESSION_MOVED" });
  await assert.rejects(stored.append("example", "wrong", [{ role: "user", contnt: "x" }]), /did you mean `content`/);
  await assert.rejects(stored.get("example", "nonesuch"), { reason: "SESSION_NOT_FOUND" });
  await assert.rejects(all(stored.export("example", "nonesuch")), { reason: "SESSION_NOT_FOUND" });
});

test("lists and exports go to the end", async () => {
  const stored = client.conversations;
  for (let from = 0; from < 2_500; from += 500) await stored.append("example", "long", turns(from, from + 500));
  const expected = turns(0, 2_500).map(({ content }) => content);
  assert.deepEqual(texts(await all(stored.messages("example", "long"))), expected);
  assert.deepEqual(texts(await all(stored.messages("example", "long", { fromPosition: 2, atPosition: 4 }))), expected.slice(2, 4));
  const lines = Buffer.concat(await all(stored.export("example", "long"))).toString().trimEnd().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line).content), expected);
  assert.ok((await all(stored.list("example"))).some(({ id }) => id === "long"));
});

test("a message is edited, and the old branch kept", async () => {
  const stored = client.conversations;
  await stored.append("example", "edited", turns(0, 4));
  const kept = await stored.fork("example", "edited", "edited-before", { atPosition: 3 });
  assert.deepEqual([kept.position, kept.messageCount], [3, 3]);
  const left = await stored.truncate("example", "edited", 2, { expectedPosition: 4 });
  assert.deepEqual([left.messageCount, left.position], [2, 5]);
});

test("what was said is found and removed", async () => {
  const stored = client.conversations;
  await stored.append("example", "found", [said(1, "The Hilda tows at dawn."), said(2, "Otto rests.")]);
  const { messages: [found], vectorFault } = await stored.recall("example", "hilda", { sessionId: "found", limit: 3, inContext: { sessionId: "found", fromPosition: 9 } });
  assert.equal(vectorFault, "");
  assert.deepEqual([found.sessionId, found.message.position, found.message.message.content], ["found", 0, "The Hilda tows at dawn."]);
  assert.ok(found.message.storedAt instanceof Date);
  assert.deepEqual((await stored.recall("example", "otto", { sessionId: "found", beforePosition: 1 })).messages, []);
  assert.deepEqual((await stored.recall("example", "hilda", { endTime: new Date(1_000) })).messages, []);
  const before = await stored.stats("example");
  assert.equal(await stored.delete("example", "found"), 2);
  const after = await stored.stats("example");
  assert.deepEqual([before.sessions - after.sessions, before.messages - after.messages], [1, 2]);
  const { summaries, fault } = await stored.notes("example");
  assert.deepEqual(summaries, []);
  assert.match(fault, /memory\.models\.summarise/);
});

test("a watch goes on over a restart, and ends with the session", async () => {
  const own = await serve();
  const caller = new Promptd(own.address);
  const stored = caller.conversations;
  await stored.append("example", "watched", turns(0, 1));
  const watch = stored.watch("example", "watched");
  assert.equal((await watch.next()).value.session.position, 1);
  await own.kill();
  await own.start();
  await stored.append("example", "watched", turns(0, 2));
  assert.equal((await watch.next()).value.session.position, 2);
  await stored.delete("example", "watched");
  assert.equal((await watch.next()).value.deleted, true);
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
  caller.close();
  await own.stop();
});

test("a session is never answered from before", async () => {
  const own = await serve();
  const caller = new Promptd(own.address, { lastGood: new Memory() });
  await caller.conversations.append("example", "kept", [said(1, "A secret.")]);
  assert.ok((await caller.assemble("example", { sessionId: "kept" })).messages.length);
  await own.kill();
  await assert.rejects(caller.assemble("example", { sessionId: "kept" }, { timeoutMs: 1_000 }), { code: /unavailable|deadline_exceeded/ });
  caller.close();
  await own.stop();
});
