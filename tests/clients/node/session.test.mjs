// Sessions: what a turn carries, and following a workspace.
import assert from "node:assert/strict";
import { appendFileSync, rmSync } from "node:fs";
import { EventEmitter, on, once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

import { Promptd } from "promptd";

import { all, PATIENCE_MS, proxy, serve } from "./server.mjs";

const BERTH = "Where can I berth? ".repeat(1_000);
const turn = { now: new Date(0), conversation: { messages: [{ role: "user", content: BERTH }] } };

test("a turn carries only what changed", async () => {
  const server = await serve();
  const way = await proxy(server.address);
  const client = new Promptd(way.address);
  const whole = await client.assemble("example", { ...turn, user: { name: "Dana" } });
  const session = client.session("example", { user: { name: "Dana" }, omitSections: true });

  const sent = async (options) => {
    const before = way.bytes;
    const prompt = await session.assemble({ ...turn, ...options });
    return [prompt, way.bytes - before];
  };
  const [first, cold] = await sent();
  const [second, warm] = await sent();
  assert.deepEqual(first.messages, whole.messages);
  assert.deepEqual(second.messages, whole.messages);
  assert.equal(session.revision, whole.revision);
  assert.ok(cold > BERTH.length && warm < cold / 10, `${warm} bytes after ${cold}`);

  // A turn that sets another user.
  const [other] = await sent({ user: { name: "Kim" } });
  assert.deepEqual(other.messages, (await client.assemble("example", { ...turn, user: { name: "Kim" } })).messages);
  client.close();
  way.stop();
  await server.stop();
});

test("calls at the same time do not disturb each other", async () => {
  const server = await serve();
  const client = new Promptd(server.address);
  const session = client.session("example", { now: new Date(0) });
  const names = ["Ann", "Ben", "Cleo", "Dana"];
  await session.assemble({ user: { name: "Ann" } });
  const prompts = await Promise.all(names.map((name) => session.assemble({ user: { name } })));
  for (const [index, name] of names.entries())
    assert.deepEqual(prompts[index].messages, (await client.assemble("example", { now: new Date(0), user: { name } })).messages);
  client.close();
  await server.stop();
});

// What a session reports, one after the other.
function changes(session) {
  const events = new EventEmitter();
  const seen = on(events, "change");
  const stop = session.onChange((change) => events.emit("change", change), (error) => events.emit("change", error));
  return { next: async () => (await seen.next()).value[0], stop };
}

test("a session follows its workspace through a lost connection and a restart", async () => {
  const server = await serve();
  const way = await proxy(server.address);
  const client = new Promptd(way.address);
  const session = client.session("example");
  const { next, stop } = changes(session);
  const first = await next();
  assert.deepEqual([first.workspace.id, first.changedPaths, session.revision], ["example", [], first.workspace.revision]);

  appendFileSync(join(server.workspaces, "example/IDENTITY.md"), "\n- You have a parrot.\n");
  const second = await next();
  assert.deepEqual(second.changedPaths, ["IDENTITY.md"]);

  // With the revision known, nothing is sent twice: what comes next is the next edit.
  const reconnected = once(way.events, "connection");
  way.cut();
  await reconnected;
  appendFileSync(join(server.workspaces, "example/IDENTITY.md"), "- It is green.\n");
  const third = await next();
  assert.notEqual(third.workspace.revision, second.workspace.revision);

  await server.kill();
  appendFileSync(join(server.workspaces, "example/IDENTITY.md"), "- It speaks.\n");
  await server.start();
  const began = performance.now();
  assert.notEqual((await next()).workspace.revision, third.workspace.revision);
  assert.ok(performance.now() - began < PATIENCE_MS);
  stop();
  client.close();
  way.stop();
  await server.stop();
});

test("a watch ends with its workspace, with its signal, and with an error that lasts", async () => {
  const server = await serve();
  const client = new Promptd(server.address);
  const gone = client.watch("locked");
  await gone.next();
  rmSync(join(server.workspaces, "locked"), { recursive: true });
  assert.equal((await gone.next()).value.deleted, true);
  assert.deepEqual(await gone.next(), { done: true, value: undefined });

  const abort = new AbortController();
  for await (const _ of client.watch("example", { signal: abort.signal })) abort.abort();

  await assert.rejects(all(client.watch("harbour")), { code: "not_found" });
  assert.equal((await changes(client.session("harbour")).next()).reason, "WORKSPACE_NOT_FOUND");
  client.close();
  await server.stop();
});

test("a watch that nobody reads any more is ended, and so are those of a client that is closed", async () => {
  const server = await serve({ limits: { max_streams: 1 } });
  const client = new Promptd(server.address);
  // The server has room for one: each of these could not begin while the one before went on.
  for (let index = 0; index < 3; index++) for await (const _ of client.watch("example")) break;
  const watch = client.watch("example");
  await watch.next();
  client.close();
  await assert.rejects(watch.next(), { code: "canceled", message: /the client is closed/ });
  await assert.rejects(client.assemble("example"), { code: "canceled" });
  await server.stop();
});
