// Calls of the service's own RPCs by the Connect protocol, in JSON. The token lives here, in memory, and nowhere else.

const STREAM_ENDS = 2; // the envelope's flag of a stream's last message
const HEADER_BYTES = 5; // flags, then the length in four bytes

let token = "";
let refused = () => {};

/** Sets the token for the calls from now on; empty: none. @param {string} value */
export function setToken(value) {
  token = value;
}

/** Says whom to tell when a call has no token that counts. @param {(error: RpcError) => void} listener */
export function onUnauthenticated(listener) {
  refused = listener;
}

/** An RPC's refusal, or the failure to reach the server (code `unavailable`, reason `UNREACHABLE`). */
export class RpcError extends Error {
  /** @param {{code?: string, message?: string, details?: Array}} body the error as Connect has it */
  constructor(body) {
    super(body.message || body.code || "the call failed");
    this.name = "RpcError";
    /** @type {string} */ this.code = body.code ?? "unknown";
    /** @type {Array<{type: string, debug?: object}>} */ this.details = body.details ?? [];
    /** @type {string} */ this.reason = this.detail("ErrorInfo").reason ?? "";
    /** @type {Array<{field: string, description: string}>} */
    this.violations = [
      ...(this.detail("BadRequest").fieldViolations ?? []),
      ...(this.detail("PreconditionFailure").violations ?? []).map((each) => ({ ...each, field: each.subject ?? "" })),
    ].map(({ field = "", description = "" }) => ({ field, description }));
  }

  detail(name) {
    return this.details.find((each) => each.type?.endsWith(`.${name}`))?.debug ?? {};
  }
}

/**
 * Calls one RPC.
 * @param {string} method such as `PromptService/AssemblePrompt`
 * @param {object} request in ProtoJSON
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<object>} the answer in ProtoJSON
 * @throws {RpcError} where it is refused or the server cannot be reached; an AbortError where `signal` ended it
 */
export async function call(method, request, { signal } = {}) {
  const answer = await post(method, "application/json", JSON.stringify(request), signal);
  return readJson(answer);
}

/**
 * Calls an RPC that answers with a stream.
 * @param {string} method such as `WorkspaceService/WatchWorkspace`
 * @param {object} request in ProtoJSON
 * @param {{signal?: AbortSignal, opened?: () => void}} [options] `opened` is called when the server takes the call
 * @returns {AsyncGenerator<object>} its messages
 * @throws {RpcError} as `call`, and where the stream ends with an error
 */
export async function* stream(method, request, { signal, opened } = {}) {
  const answer = await post(method, "application/connect+json", envelope(request), signal);
  opened?.();
  for await (const { flags, message } of envelopes(answer.body.getReader())) {
    if (!(flags & STREAM_ENDS)) yield message;
    else if (message.error) throw failure(message.error);
    else return;
  }
  throw failure({ code: "unavailable", message: "the connection to the server was lost", details: unreachable() });
}

async function post(method, type, body, signal) {
  const headers = { "content-type": type };
  if (token) headers.authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(`/promptd.v1.${method}`, { method: "POST", headers, body, signal, cache: "no-store" });
  } catch (error) {
    throw error.name === "AbortError" ? error : lost();
  }
  if (answer.ok) return answer;
  const text = await answer.text().catch(() => "");
  let said = {};
  try {
    said = JSON.parse(text);
  } catch {
    said = { code: answer.status === 404 ? "unimplemented" : "unknown", message: text.trim() || `HTTP status ${answer.status}` };
  }
  throw failure(said);
}

async function readJson(answer) {
  try {
    return await answer.json();
  } catch (error) {
    throw error.name === "AbortError" ? error : lost();
  }
}

function lost() {
  return failure({ code: "unavailable", message: "the server cannot be reached; is it running?", details: unreachable() });
}

function unreachable() {
  return [{ type: "google.rpc.ErrorInfo", debug: { reason: "UNREACHABLE" } }];
}

function failure(body) {
  const error = new RpcError(body);
  if (error.code === "unauthenticated") refused(error);
  return error;
}

function envelope(request) {
  const message = new TextEncoder().encode(JSON.stringify(request));
  const bytes = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, HEADER_BYTES);
  return bytes;
}

async function* envelopes(reader) {
  let held = new Uint8Array(0);
  try {
    for (;;) {
      while (held.length >= HEADER_BYTES) {
        const end = HEADER_BYTES + new DataView(held.buffer, held.byteOffset).getUint32(1);
        if (held.length < end) break;
        const message = JSON.parse(new TextDecoder().decode(held.subarray(HEADER_BYTES, end)));
        yield { flags: held[0], message };
        held = held.subarray(end);
      }
      const { done, value } = await read(reader);
      if (done) return;
      held = joined(held, value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    throw error.name === "AbortError" ? error : lost();
  }
}

function joined(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
