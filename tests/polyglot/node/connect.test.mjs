// connect-node by all three protocols, and connect-web in a browser.
import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

import { browser, site, visit } from "./browser.mjs";
import { CASES, pem, serve } from "./server.mjs";
import { BadRequestSchema, ErrorInfoSchema, ResourceInfoSchema, RetryInfoSchema } from "./stubs/google/rpc/error_details_pb.js";
import { PromptService, WorkspaceService } from "./stubs/promptd/v1/promptd_pb.js";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const LIMIT = { timeoutMs: 10_000 };
const { heartbeat, ephemeral_system_prompt: ephemeralSystemPrompt } = CASES.turn;
const request = { workspaceId: "example", turn: { heartbeat, ephemeralSystemPrompt } };

let server;
before(async () => (server = await serve({ grpc: { web_origins: ["https://app.example"] } })));
after(() => server.stop());

const TRANSPORTS = {
  "Connect, JSON, HTTP/1.1": (options) => createConnectTransport({ httpVersion: "1.1", useBinaryFormat: false, ...options }),
  "Connect, protobuf, HTTP/1.1": (options) => createConnectTransport({ httpVersion: "1.1", ...options }),
  "Connect, JSON, HTTP/2": (options) => createConnectTransport({ httpVersion: "2", useBinaryFormat: false, ...options }),
  "Connect, protobuf, HTTP/2": (options) => createConnectTransport({ httpVersion: "2", ...options }),
  gRPC: (options) => createGrpcTransport(options),
  "gRPC-Web, HTTP/1.1": (options) => createGrpcWebTransport({ httpVersion: "1.1", ...options }),
  "gRPC-Web, HTTP/2": (options) => createGrpcWebTransport({ httpVersion: "2", ...options }),
};

// The error of a call, with its details by name.
async function refused(call) {
  const error = await call.then(() => assert.fail("the call must fail"), ConnectError.from);
  const schemas = { BadRequest: BadRequestSchema, ErrorInfo: ErrorInfoSchema, ResourceInfo: ResourceInfoSchema };
  schemas.RetryInfo = RetryInfoSchema;
  const details = Object.entries(schemas).map(([name, schema]) => [name, error.findDetails(schema)]);
  for (const [name, found] of details) assert.ok(found.length <= 1, `two details of type ${name}`);
  return { code: Code[error.code], ...Object.fromEntries(details.map(([name, found]) => [name, found[0]])) };
}

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  const client = (service) => createClient(service, transport({ baseUrl: `http://${server.address}` }));

  test(`${name}: a prompt`, async () => {
    const prompt = await client(PromptService).assemblePrompt(request, LIMIT);
    assert.deepEqual(prompt.messages.map((message) => message.name), CASES.messages);
    assert.equal(prompt.messages[0].digest.length, 64);
  });

  test(`${name}: errors have details`, async () => {
    const prompts = client(PromptService);
    const missing = await refused(prompts.assemblePrompt({ workspaceId: "nowhere" }, LIMIT));
    assert.equal(missing.code, "NotFound");
    assert.deepEqual([missing.ErrorInfo.domain, missing.ErrorInfo.reason], ["promptd", "WORKSPACE_NOT_FOUND"]);
    assert.equal(missing.ResourceInfo.resourceName, "nowhere");
    const invalid = await refused(prompts.assemblePrompt({ ...request, turn: { timeZone: "Mars/Olympus" } }, LIMIT));
    assert.equal(invalid.code, "InvalidArgument");
    assert.deepEqual(invalid.BadRequest.fieldViolations.map((violation) => violation.field), ["turn.time_zone"]);
  });

  test(`${name}: a watch sees an edit`, async () => {
    const abort = new AbortController();
    const options = { ...LIMIT, signal: abort.signal };
    const watch = client(WorkspaceService).watchWorkspace({ workspaceId: "example" }, options)[Symbol.asyncIterator]();
    const { value: first } = await watch.next();
    appendFileSync(join(server.workspace, "IDENTITY.md"), "\n- You have a parrot.\n");
    const { value: second } = await watch.next();
    abort.abort();
    assert.deepEqual(second.changedPaths, ["IDENTITY.md"]);
    assert.notEqual(second.workspace.revision, first.workspace.revision);
  });

  test(`${name}: a deadline`, async () => {
    const watch = client(WorkspaceService).watchWorkspace({ workspaceId: "example" }, { timeoutMs: 300 });
    const rest = (async () => {
      for await (const _ of watch);
    })();
    assert.equal((await refused(rest)).code, "DeadlineExceeded");
  });
}

test("lists are read by GET, prompts are not", async () => {
  const transport = createConnectTransport({ baseUrl: `http://${server.address}`, httpVersion: "2", useHttpGet: true });
  const { workspaces } = await createClient(WorkspaceService, transport).listWorkspaces({}, LIMIT);
  assert.ok(workspaces.some((workspace) => workspace.id === "example"));
  assert.equal((await refused(createClient(PromptService, transport).assemblePrompt(request, LIMIT))).code, "Unimplemented");
});

test("too many watches are asked to come back", async () => {
  const small = await serve({ limits: { max_streams: 1 } });
  const transport = createConnectTransport({ baseUrl: `http://${small.address}`, httpVersion: "2" });
  const { watchWorkspace } = createClient(WorkspaceService, transport);
  const abort = new AbortController();
  const first = watchWorkspace({ workspaceId: "example" }, { signal: abort.signal })[Symbol.asyncIterator]();
  await first.next();
  const error = await refused(watchWorkspace({ workspaceId: "example" }, LIMIT)[Symbol.asyncIterator]().next());
  assert.deepEqual([error.code, error.RetryInfo.retryDelay.seconds], ["Unavailable", 1n]);
  abort.abort();
  await small.stop();
});

for (const httpVersion of ["1.1", "2"])
  test(`TLS with a client certificate, HTTP/${httpVersion}`, async () => {
    const file = (name) => join(process.env.PROMPTD_TLS, name);
    const secure = await serve({ tls: { cert: file("server.pem"), key: file("server.key"), client_ca: file("ca.pem") } });
    const nodeOptions = { ca: pem("ca.pem"), key: pem("client.key"), cert: pem("client.pem") };
    const transport = createConnectTransport({ baseUrl: `https://localhost:${secure.port}`, httpVersion, nodeOptions });
    const prompt = await createClient(PromptService, transport).assemblePrompt(request, LIMIT);
    assert.equal(prompt.messages.length, CASES.messages.length);
    await secure.stop();
  });

// What the page asks its site for: itself, the stubs, and modules by their names in imports, which lead to their files.
function modules(path, call) {
  const script = (file) => ["text/javascript", readFileSync(file)];
  if (path === "/") return ["text/html", readFileSync(join(FOLDER, "page.html"))];
  if (path === "/call") return ["application/json", JSON.stringify(call())];
  if (path.startsWith("/module/")) {
    const file = fileURLToPath(import.meta.resolve(path.slice("/module/".length)));
    const address = pathToFileURL(file).pathname.slice(pathToFileURL(FOLDER).pathname.length);
    return ["text/plain", "", { location: `/${address}` }];
  }
  if (path.startsWith("/stubs/") || path.startsWith("/node_modules/")) return script(join(FOLDER, path));
}

for (const protocol of ["connect", "grpc-web"])
  test(`a page calls by connect-web: ${protocol}`, { skip: browser ? false : "NO BROWSER" }, async () => {
    let open;
    const turn = { heartbeat, ephemeralSystemPrompt };
    const host = await site((path) => modules(path, () => ({ baseUrl: `http://${open.address}`, protocol, turn })));
    open = await serve({ grpc: { web_origins: [host.origin] } });
    const [first, second] = await visit(host.origin, async () => {
      const first = await host.report();
      if (first.error) return [first];
      appendFileSync(join(open.workspace, "IDENTITY.md"), "\n- You have a parrot.\n");
      return [first, await host.report()];
    });
    host.stop();
    await open.stop();

    assert.equal(first.error, undefined);
    assert.deepEqual(first.names, CASES.messages);
    assert.deepEqual(first.errors, [
      { code: "NotFound", reasons: ["WORKSPACE_NOT_FOUND"], fields: [] },
      { code: "InvalidArgument", reasons: ["INVALID_REQUEST"], fields: ["turn.time_zone"] },
    ]);
    assert.deepEqual(second.changed, ["IDENTITY.md"]);
    assert.notEqual(second.revision, first.revision);
  });
