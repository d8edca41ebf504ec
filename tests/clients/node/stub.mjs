// A server that keeps what the providers' clients send, and answers each as its provider would.
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";

const chat = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "ok" } };
const message = { role: "assistant", content: [{ text: "ok" }] };
const ANSWERS = {
  "/chat/completions": { id: "1", object: "chat.completion", created: 0, model: "m", choices: [chat] },
  "/responses": { id: "1", object: "response", created_at: 0, model: "m", status: "completed", output: [] },
  "/v1/messages": { id: "1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "ok" }] },
  ":generateContent": { candidates: [{ content: { role: "model", parts: [{ text: "ok" }] } }] },
  "/converse": { output: { message }, stopReason: "end_turn", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } },
};

// Listens on a free port by HTTP/1.1, and on another by HTTP/2, which AWS's client speaks.
export async function provider() {
  const bodies = [];
  const answer = async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    bodies.push(JSON.parse(Buffer.concat(parts)));
    const [, known] = Object.entries(ANSWERS).find(([end]) => request.url.split("?")[0].endsWith(end)) ?? [];
    response.writeHead(known ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(known ?? {}));
  };
  const servers = [createServer(answer), createHttp2Server(answer)];
  const urls = servers.map(async (server) => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${server.address().port}`;
  });
  const [url, http2Url] = await Promise.all(urls);
  const stop = () => servers.forEach((server) => server.close());
  return { url, http2Url, received: () => bodies.pop(), stop };
}
