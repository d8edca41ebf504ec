// gRPC-Web from a real browser: a page of another origin calls AssemblePrompt and reports what it got.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { browser, site, visit } from "./browser.mjs";
import { CASES, ROOT, serve } from "./server.mjs";

const PROTOBUF = createRequire(import.meta.url).resolve("protobufjs/dist/protobuf.min.js");

// Runs in the page. One length-prefixed message goes out; a message frame and a trailer frame come back.
async function page() {
  const say = (result) => fetch("/report", { method: "POST", body: JSON.stringify(result) });
  try {
    const { address, proto, turn } = await (await fetch("/call")).json();
    const { root } = protobuf.parse(proto, { keepCase: true });
    for (const name of ["struct", "timestamp"]) root.addJSON(protobuf.common.get(`google/protobuf/${name}.proto`).nested);
    const [Request, Response] = ["Request", "Response"].map((end) => root.lookupType(`promptd.v1.AssemblePrompt${end}`));
    const message = Request.encode(Request.fromObject({ workspace_id: "example", turn })).finish();
    const body = new Uint8Array(5 + message.length);
    new DataView(body.buffer).setUint32(1, message.length);
    body.set(message, 5);
    const answer = await fetch(`http://${address}/promptd.v1.PromptService/AssemblePrompt`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
      body,
    });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const length = new DataView(bytes.buffer).getUint32(1);
    const prompt = Response.decode(bytes.subarray(5, 5 + length));
    const trailers = new TextDecoder().decode(bytes.subarray(10 + length));
    await say({ names: prompt.messages.map((m) => m.name), first: prompt.messages[0].content, trailers });
  } catch (error) {
    await say({ error: String(error) });
  }
}

test("a browser calls by gRPC-Web", { skip: browser ? false : "NO BROWSER" }, async () => {
  let server;
  const { heartbeat, ephemeral_system_prompt } = CASES.turn;
  const files = {
    "/": () => ["text/html", `<script src="/protobuf.js"></script><script>(${page})()</script>`],
    "/protobuf.js": () => ["text/javascript", readFileSync(PROTOBUF)],
    "/call": () => [
      "application/json",
      JSON.stringify({
        address: server.address,
        proto: readFileSync(join(ROOT, "proto/promptd/v1/promptd.proto"), "utf8"),
        turn: { heartbeat, ephemeral_system_prompt },
      }),
    ],
  };
  const host = await site((path) => files[path]?.());
  server = await serve({ grpc: { web_origins: [host.origin] } });
  const result = await visit(host.origin, host.report);
  host.stop();
  await server.stop();

  assert.equal(result.error, undefined);
  assert.deepEqual(result.names, CASES.messages);
  assert.match(result.first, /^You are a conversational AI assistant\./);
  assert.match(result.trailers, /grpc-status: ?0/);
});
