// Retries, and how long they wait.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http2";
import { join } from "node:path";
import { mock, test } from "node:test";

import { Promptd, SERVICE_CONFIG } from "promptd";

import { proxy, ROOT, serve } from "./server.mjs";

test("the policy is that of the examples", () => {
  assert.deepEqual(SERVICE_CONFIG, JSON.parse(readFileSync(join(ROOT, "examples/service_config.json"), "utf8")));
});

test("a connection that is lost is tried again, and not for ever", async () => {
  const server = await serve();
  const flaky = await proxy(server.address, { hangUps: 3 });
  const client = new Promptd(flaky.address);
  assert.ok((await client.assemble("example")).messages.length);
  assert.equal(flaky.connections, 4);
  const dead = await proxy(server.address, { hangUps: 100 });
  await assert.rejects(new Promptd(dead.address).assemble("example"), { code: "unavailable" });
  assert.equal(dead.connections, 4);
  client.close();
  [flaky, dead].forEach((each) => each.stop());
  await server.stop();
});

test("an address that fails is passed over", async () => {
  const server = await serve();
  const dead = await Promise.all([1, 2, 3].map(() => proxy(server.address, { hangUps: 100 })));
  const client = new Promptd([...dead.map(({ address }) => address), server.address]);
  const timers = mock.method(globalThis, "setTimeout");
  for (let index = 0; index <= 10; index++) await client.assemble("example");
  timers.mock.restore();
  // Nobody waits where there is another address; longer timers are deadlines.
  assert.deepEqual(timers.mock.calls.map((call) => call.arguments[1]).filter((ms) => ms > 0 && ms < 1_000), []);
  assert.deepEqual(dead.map(({ connections }) => connections), [1, 1, 1]);
  client.close();
  dead.forEach((each) => each.stop());
  await server.stop();
});

const message = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const field = (number, bytes) => message([number * 8 + 2, bytes.length], bytes);
const detail = (type, value) => ({ type: `google.rpc.${type}`, value: value.toString("base64") });

// Refuses calls as an overloaded service does, then answers with an empty prompt.
async function overloaded(refusals, retry) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(performance.now());
    if (seen.length > refusals) return response.writeHead(200, { "content-type": "application/proto" }).end();
    const info = detail("ErrorInfo", message(field(1, Buffer.from("OVERLOADED")), field(2, Buffer.from("promptd"))));
    const body = { code: "unavailable", message: "too many calls", details: [info, ...retry] };
    response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { seen, address: `127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

// 700 ms, longer than the policy's first wait.
const LATER = detail("RetryInfo", field(1, Buffer.from([2 * 8, 0x80, 0xce, 0xe4, 0xcd, 0x02])));

test("the service's own time to come back is kept", async () => {
  const server = await overloaded(1, [LATER]);
  const client = new Promptd(server.address, { protocol: "connect" });
  await client.assemble("example");
  const [first, second] = server.seen;
  assert.ok(second - first >= 700, String(second - first));
  client.close();
  server.stop();
});

test("a time beyond the deadline is not waited for, and is in the error", async () => {
  const server = await overloaded(9, [LATER]);
  const client = new Promptd(server.address, { protocol: "connect" });
  await assert.rejects(client.assemble("example", {}, { timeoutMs: 500 }), { code: "unavailable", reason: "OVERLOADED", retryAfterMs: 700 });
  assert.equal(server.seen.length, 1);
  client.close();
  server.stop();
});
