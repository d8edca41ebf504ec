// Calls of promptd by Connect with JSON, with what a browser has. Without a build step; with one, use the package `promptd`.

const TIMEOUT_MS = 5000;

export class PromptdError extends Error {
  constructor({ code, message, details = [] }) {
    super(message);
    this.code = code;
    this.reason = details.find((detail) => detail.debug?.reason)?.debug.reason;
  }
}

// One answer: `call(server, "PromptService/AssemblePrompt", {workspaceId: "example"})`.
export async function call(server, method, request) {
  const answer = await post(server, method, "application/json", JSON.stringify(request), AbortSignal.timeout(TIMEOUT_MS));
  return answer.json();
}

// The messages of a stream, until the signal ends it.
export async function* stream(server, method, request, signal) {
  const message = new TextEncoder().encode(JSON.stringify(request));
  const envelope = new Uint8Array(5 + message.length);
  new DataView(envelope.buffer).setUint32(1, message.length);
  envelope.set(message, 5);
  const answer = await post(server, method, "application/connect+json", envelope, signal);
  let rest = new Uint8Array();
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(rest.length + value.length);
    joined.set(rest);
    joined.set(value, rest.length);
    rest = joined;
    while (rest.length >= 5) {
      const end = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (rest.length < end) break;
      const said = JSON.parse(new TextDecoder().decode(rest.subarray(5, end)));
      // The last message says how the stream ended.
      const isLast = (rest[0] & 2) !== 0;
      if (isLast && said.error) throw new PromptdError(said.error);
      if (isLast) return;
      rest = rest.subarray(end);
      yield said;
    }
  }
}

async function post({ url, token }, method, type, body, signal) {
  const headers = { "content-type": type };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(`${url.replace(/\/$/, "")}/promptd.v1.${method}`, { method: "POST", headers, body, signal });
  if (answer.ok) return answer;
  throw new PromptdError(await answer.json().catch(() => ({ message: `HTTP ${answer.status}` })));
}
