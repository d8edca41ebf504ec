// Every call, with plain values in and out.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Promptd } from "promptd";

import { all, proxy, serve, tlsFile } from "./server.mjs";

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

const text = (prompt) => prompt.messages.map((message) => message.content).join("\n");

for (const protocol of ["grpc", "connect"])
  test(`a prompt by ${protocol}`, async () => {
    const caller = new Promptd(server.address, { protocol });
    const prompt = await caller.assemble("example", {
      user: { name: "Dana" },
      now: new Date("2026-03-01T02:30:00Z"),
      timeZone: "America/Los_Angeles",
      variables: { Vessel: "MV Baltic Heron", Length: 82, Insured: true },
      heartbeat: true,
      responseFormat: "json-object",
      knowledge: [{ content: "Berth 7 is closed.", source: "notes" }],
      conversation: { messages: [{ role: "user", content: "Where can I berth?", time: new Date(0) }], firstIndex: 3 },
      budget: { max: 100_000, unit: "chars" },
      tokenEncoding: "o200k_base",
      includeSpans: true,
    });
    for (const part of ["2026-02-28T18:30:00-08:00", "- Length: 82", "- Insured: true", "Dana", "Berth 7 is closed.", "JSON object"])
      assert.ok(text(prompt).includes(part), part);
    const last = prompt.messages.at(-1);
    assert.deepEqual([last.role, last.content, last.conversationIndex], ["user", "[1969-12-31T16:00:00-08:00] user: Where can I berth?", 0]);
    assert.equal(prompt.conversationWindow.cut, 3);
    assert.match(prompt.digest + prompt.revision, /^[0-9a-f]{128}$/);
    assert.equal(typeof prompt.size.tokens, "number");
    assert.equal(prompt.sections[0].outcome, "included");
    assert.equal(prompt.sections[0].spans[0].origin.kind, "profile");
    assert.ok(prompt.findings.some((finding) => finding.severity === "warning" && finding.code === "CONTEXT_FILE_TRUNCATED"));
    assert.deepEqual([prompt.stale, prompt.ageMs, prompt.rendered], [false, 0, undefined]);
    caller.close();
  });

test("a revision that is pinned, a digest that is held, a conversation that is not sent back", async () => {
  const turn = { now: new Date(0), conversation: { messages: [{ role: "user", content: "Hello" }] } };
  const first = await client.assemble("example", turn);
  assert.equal((await client.assemble("example", { ...turn, revision: first.revision })).digest, first.digest);
  const same = await client.assemble("example", { ...turn, ifNoneMatch: [first.digest] });
  assert.deepEqual([same.notModified, same.messages], [true, []]);
  const referenced = await client.assemble("example", { ...turn, referenceConversation: true });
  assert.deepEqual(referenced.messages, first.messages);
});

test("an edit is compared", async () => {
  const proposed = { files: [{ path: "AGENTS.md", content: new TextEncoder().encode("Be brief.") }] };
  const { same, sections } = await client.diff("example", { proposed, user: { name: "Dana" } });
  assert.equal(same, false);
  assert.equal(sections.find(({ id }) => id === "workspace_context/AGENTS.md").change, "changed");
});

test("a reply is taken apart", async () => {
  assert.equal((await client.parseReply("example", "HEARTBEAT_OK", { heartbeat: true })).heartbeatOk, true);
});

test("a history is planned", async () => {
  const messages = ["When does the tide turn?", "At 14:20.", "Thanks."].map((content) => ({ role: "user", content, tokens: 4 }));
  const plan = await client.planHistory("example", messages, { thresholds: { topicDistance: 2 } });
  assert.deepEqual(plan.segments.map(({ messageStart, messageEnd, end }) => [messageStart, messageEnd, end]), [[0, 3, "chunk"]]);
});

test("workspaces, over all pages", async () => {
  for (let index = 0; index < 120; index++) mkdirSync(join(server.workspaces, `more-${index}`));
  const many = await serve();
  for (let index = 0; index < 120; index++) {
    mkdirSync(join(many.workspaces, `more-${index}`));
    writeFileSync(join(many.workspaces, `more-${index}/AGENTS.md`), "Hello.");
  }
  await many.kill();
  await many.start();
  const caller = new Promptd(many.address);
  const listed = await all(caller.listWorkspaces());
  assert.deepEqual([listed.length, new Set(listed.map(({ id }) => id)).size], [122, 122]);
  const found = await all(caller.listWorkspaces({ query: "MORE-11" }));
  assert.deepEqual(found.map(({ id }) => id).toSorted(), ["more-11", ...Array.from({ length: 10 }, (_, index) => `more-11${index}`)]);
  caller.close();
  await many.stop();
});

test("a workspace, its skills, and profiles", async () => {
  const workspace = await client.getWorkspace("example");
  assert.ok(workspace.loadedAt instanceof Date && Date.now() - workspace.loadedAt < 60_000);
  assert.equal((await client.listRevisions("example"))[0].revision, workspace.revision);
  const file = await client.readFile("example", "SOUL.md");
  assert.match(new TextDecoder().decode(file.content), /^# Voice/);
  await assert.rejects(client.readFile("example", "../outside.md"), { code: /not_found|invalid_argument/ });
  const skills = await all(client.listSkills("example", { skillFilter: { allowlist: { globs: ["tide-*"] } } }));
  assert.deepEqual(skills.filter(({ shown }) => shown).map(({ name }) => name), ["tide-window"]);
  const skill = await client.readSkill("example", "berth-allocation", { file: "references/rules.md" });
  assert.ok(skill.content instanceof Uint8Array && new TextDecoder().decode(skill.content).includes("berth"));
  assert.ok((await all(client.listProfiles())).some(({ name }) => name === "five-layer"));
  assert.ok((await client.getProfile("kern")).inputs.length > 0);
});

test("TLS with a CA and a client's certificate, and not without", async () => {
  const tls = { cert: tlsFile("server.pem"), key: tlsFile("server.key"), client_ca: tlsFile("ca.pem") };
  const secure = await serve({ tls });
  const address = secure.address.replace("127.0.0.1", "localhost");
  const files = { caFile: tlsFile("ca.pem"), certFile: tlsFile("client.pem"), keyFile: tlsFile("client.key") };
  const known = new Promptd(address, { tls: files });
  assert.ok((await known.assemble("example")).messages.length);
  const stranger = new Promptd(address, { tls: { caFile: files.caFile } });
  await assert.rejects(stranger.assemble("example"), { code: "unavailable" });
  await assert.rejects(new Promptd(address, { tls: true }).assemble("example"), /certificate/);
  known.close();
  await secure.stop();
});

test("calls are spread over all addresses", async () => {
  const ways = await Promise.all([proxy(server.address), proxy(server.address)]);
  const spread = new Promptd(ways.map(({ address }) => address));
  for (let index = 0; index < 4; index++) await spread.assemble("example");
  const bytes = ways.map((way) => way.bytes);
  assert.deepEqual(ways.map((way) => way.connections), [1, 1]);
  assert.ok(Math.min(...bytes) > 0.9 * Math.max(...bytes), String(bytes));
  spread.close();
  ways.forEach((way) => way.stop());
});
