// grpc-js with proto-loader.
import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import grpc from "@grpc/grpc-js";

import { details } from "./details.mjs";
import { flaky } from "./flaky.mjs";
import { assemble, call, CASES, load, pem, promptd, request, serve, SERVICE_CONFIG } from "./server.mjs";

const packages = createRequire(import.meta.url);
const folderOf = (file) => dirname(packages.resolve(file));
const insecure = grpc.credentials.createInsecure();
const text = (prompt) => prompt.messages.map((message) => message.content).join("\n\n");
const codeOf = (name) => grpc.status[name];

let server;
const clients = {};
before(async () => {
  server = await serve();
  for (const name of ["PromptService", "WorkspaceService", "ProfileService"])
    clients[name] = new promptd[name](server.address, insecure);
});
after(async () => {
  Object.values(clients).forEach((client) => client.close());
  await server.stop();
});

const prompt = (set) => call(clients.PromptService, "AssemblePrompt", assemble(set));

test("all five layers in order", async () => {
  const full = await prompt();
  assert.deepEqual(full.messages.map((m) => m.name), CASES.messages);
  assert.deepEqual(full.sections.map((s) => s.id), CASES.sections);
  let at = 0;
  for (const part of CASES.in_order) {
    at = text(full).indexOf(part, at);
    assert.notEqual(at, -1, part);
    at += part.length;
  }
  for (const part of CASES.nowhere) assert.ok(!text(full).includes(part));
});

for (const { set, text: gone, messages = [], sections } of CASES.without)
  test(`the right subset with ${JSON.stringify(set)}`, async () => {
    const part = await prompt(set);
    assert.ok(!text(part).includes(gone));
    assert.deepEqual(part.messages.map((m) => m.name), CASES.messages.filter((name) => !messages.includes(name)));
    for (const { id, outcome } of part.sections)
      if (sections.includes(id)) assert.equal(outcome, "OUTCOME_OMITTED");
  });

test("held messages come without content", async () => {
  const first = await prompt();
  const held = { ...assemble({ now: "2026-03-01T02:31:00Z" }), if_none_match: first.messages.map((m) => m.digest) };
  const moved = await call(clients.PromptService, "AssemblePrompt", held);
  assert.deepEqual(moved.messages.filter((m) => !m.not_modified).map((m) => m.name), ["runtime_facts"]);
});

for (const error of CASES.errors)
  test(`error: ${error.name}`, async () => {
    const failed = call(clients[error.service], error.method, request(error.request));
    await assert.rejects(failed, (caught) => {
      assert.equal(caught.code, codeOf(error.code), caught.message);
      const found = details(caught);
      assert.equal(found.ErrorInfo.domain, "promptd");
      assert.match(found.ErrorInfo.reason, /^[A-Z][A-Z0-9_]*$/);
      if (error.reason) assert.equal(found.ErrorInfo.reason, error.reason);
      for (const name of error.details ?? []) assert.ok(found[name], name);
      if (error.field)
        assert.ok(found.BadRequest.field_violations.some((violation) => violation.field === error.field));
      if (error.violations) assert.equal(found.PreconditionFailure.violations.length, error.violations);
      if (error.alone) assert.deepEqual(Object.keys(found), ["ErrorInfo"]);
      return true;
    });
  });

test("a watch sees an edit", async () => {
  const watch = clients.WorkspaceService.WatchWorkspace({ workspace_id: "example" }, { deadline: Date.now() + 10_000 });
  watch.on("error", () => {}); // the cancellation below
  const [first] = await once(watch, "data");
  appendFileSync(join(server.workspace, "IDENTITY.md"), "\n- You have a parrot.\n");
  const [second] = await once(watch, "data");
  watch.cancel();
  assert.deepEqual(second.changed_paths, ["IDENTITY.md"]);
  assert.notEqual(second.workspace.revision, first.workspace.revision);
  assert.ok(text(await prompt()).includes("parrot"));
});

test("health", async () => {
  const { Health } = load("health/v1/health.proto", join(folderOf("grpc-health-check/package.json"), "proto")).grpc
    .health.v1;
  const health = new Health(server.address, insecure);
  for (const service of ["", "promptd.v1.PromptService"])
    assert.equal((await call(health, "Check", { service })).status, "SERVING");
  await assert.rejects(call(health, "Check", { service: "nobody" }), { code: grpc.status.NOT_FOUND });
  health.close();
});

for (const version of ["v1", "v1alpha"])
  test(`reflection ${version}`, async () => {
    const protos = join(folderOf("@grpc/reflection/package.json"), "build/proto");
    const { ServerReflection } = load(`grpc/reflection/${version}/reflection.proto`, protos).grpc.reflection[version];
    const client = new ServerReflection(server.address, insecure);
    const ask = client.ServerReflectionInfo({ deadline: Date.now() + 10_000 });
    ask.write({ list_services: "" });
    const [answer] = await once(ask, "data");
    ask.end();
    const names = answer.list_services_response.service.map((service) => service.name);
    assert.ok(names.includes("promptd.v1.PromptService") && names.includes("grpc.health.v1.Health"));
    client.close();
  });

test("a deadline", async () => {
  const watch = clients.WorkspaceService.WatchWorkspace({ workspace_id: "example" }, { deadline: Date.now() + 300 });
  watch.resume();
  const [error] = await once(watch, "error").catch((thrown) => [thrown]);
  assert.equal(error.code, grpc.status.DEADLINE_EXCEEDED);
});

for (const [options, survives] of [
  [{ "grpc.enable_retries": 0 }, false],
  [{ "grpc.service_config": SERVICE_CONFIG }, true],
])
  test(`a lost connection is ${survives ? "retried by service config" : "an error without it"}`, async () => {
    const proxy = await flaky(server.port, 2);
    const reconnect = { "grpc.initial_reconnect_backoff_ms": 100 };
    const client = new promptd.PromptService(proxy.address, insecure, { ...reconnect, ...options });
    const answer = call(client, "AssemblePrompt", assemble());
    if (survives) assert.equal((await answer).messages.length, CASES.messages.length);
    else await assert.rejects(answer, { code: grpc.status.UNAVAILABLE });
    client.close();
    proxy.stop();
  });

test("TLS with a client certificate, and not without", async () => {
  const file = (name) => join(process.env.PROMPTD_TLS, name);
  const secure = await serve({ tls: { cert: file("server.pem"), key: file("server.key"), client_ca: file("ca.pem") } });
  const known = grpc.credentials.createSsl(pem("ca.pem"), pem("client.key"), pem("client.pem"));
  const client = new promptd.PromptService(`localhost:${secure.port}`, known);
  assert.equal((await call(client, "AssemblePrompt", assemble())).messages.length, CASES.messages.length);
  const stranger = new promptd.PromptService(`localhost:${secure.port}`, grpc.credentials.createSsl(pem("ca.pem")));
  await assert.rejects(call(stranger, "AssemblePrompt", assemble()), { code: grpc.status.UNAVAILABLE });
  client.close();
  stranger.close();
  await secure.stop();
});

test("a token opens what it names and nothing else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tokens-"));
  const tokens_file = join(folder, "tokens.yaml");
  const token = "x".repeat(32);
  writeFileSync(tokens_file, JSON.stringify({ tokens: [{ name: "desk", token, workspaces: ["example"] }] }));
  const guarded = await serve({ auth: { tokens_file } });
  const client = new promptd.PromptService(guarded.address, insecure);
  const bearer = (request) =>
    new Promise((resolve, reject) => {
      const metadata = new grpc.Metadata();
      metadata.set("authorization", `Bearer ${token}`);
      client.AssemblePrompt(request, metadata, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  assert.equal((await bearer(assemble())).messages.length, CASES.messages.length);
  await assert.rejects(bearer({ workspace_id: "locked" }), { code: grpc.status.PERMISSION_DENIED });
  await assert.rejects(call(client, "AssemblePrompt", assemble()), { code: grpc.status.UNAUTHENTICATED });
  client.close();
  await guarded.stop();
  rmSync(folder, { recursive: true });
});
