/** Makes calls: headers, deadline, retries, and the one type of error. */
import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";

import { toMessage, toPlain } from "./convert.js";
import { failed, PromptdError, type Attempted } from "./errors.js";
import type { CallOptions, Shown } from "./plain.js";
import { backoffMs, MAX_ATTEMPTS, sleep } from "./policy.js";

/** Where calls go. @internal */
export interface Channels {
  /** How messages name it. */
  readonly address: string;
  /** The next transport to use. */
  next(): Promise<Channel>;
  /** Ends all connections. */
  close(): void;
}

/** One connection. @internal */
export interface Channel {
  readonly transport: Transport;
  /** Notes whether it served a call. True: another one is better tried at once. */
  served(ok: boolean): boolean;
}

/** The default deadline of a call, in milliseconds. */
export const TIMEOUT_MS = 10_000;

/** @internal */
export class Caller {
  readonly #channels: Channels;
  readonly #token: string | undefined;
  readonly #timeoutMs: number;
  #closed = false;

  constructor(channels: Channels, token?: string, timeoutMs = TIMEOUT_MS) {
    this.#channels = channels;
    this.#token = token;
    this.#timeoutMs = timeoutMs;
  }

  /** One call, tried again while it is UNAVAILABLE, the deadline allows, and `attempts` are left. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, message: MessageShape<I>, options: CallOptions = {}, attempts = MAX_ATTEMPTS,
  ): Promise<MessageShape<O>> {
    const { timeoutMs = this.#timeoutMs, signal } = options;
    const deadline = performance.now() + timeoutMs;
    const left = () => Math.max(1, Math.round(deadline - performance.now()));
    for (let attempt = 1; ; attempt++) {
      let channel: Channel | undefined;
      try {
        channel = await within(left(), this.#next(method));
        const answer = await channel.transport.unary(method, signal, left(), this.#headers(options), message as never);
        channel.served(true);
        return answer.message;
      } catch (thrown) {
        const error = failed(thrown, this.#attempted(method, { ...options, timeoutMs }));
        const elsewhere = channel?.served(isAnswer(error)) ?? false;
        const wait = Math.max(elsewhere ? 0 : backoffMs(attempt), error.retryAfterMs ?? 0);
        const late = performance.now() + wait >= deadline || signal?.aborted;
        if (error.code !== "unavailable" || attempt >= attempts || late) throw error;
        await sleep(wait, signal);
      }
    }
  }

  /** A stream of answers. It has no deadline of its own, is not tried again, and ends when nobody reads it any more. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>, message: MessageShape<I>, options: CallOptions = {},
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    let channel: Channel | undefined;
    const ending = new AbortController();
    const end = () => ending.abort();
    options.signal?.addEventListener("abort", end);
    try {
      if (options.signal?.aborted) end();
      channel = await this.#next(method);
      const input = (async function* () { yield message; })() as never;
      const { timeoutMs } = options;
      const answers = await channel.transport.stream(method, ending.signal, timeoutMs, this.#headers(options), input);
      for await (const answer of answers.message) {
        channel.served(true);
        yield answer;
      }
    } catch (thrown) {
      const error = failed(thrown, this.#attempted(method, options));
      channel?.served(isAnswer(error));
      throw error;
    } finally {
      options.signal?.removeEventListener("abort", end);
      end();
    }
  }

  /** One call, with plain values in and out. */
  async plain<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, given: object, options?: CallOptions,
  ): Promise<Shown<MessageShape<O>>> {
    return toPlain(method.output, await this.unary(method, toMessage(method.input, given, method.name), options));
  }

  /** A stream, with plain values in and out. */
  async *plainStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>, given: object, options?: CallOptions,
  ): AsyncGenerator<Shown<MessageShape<O>>, void, undefined> {
    const request = toMessage(method.input, given, method.name);
    for await (const message of this.stream(method, request, options)) yield toPlain(method.output, message);
  }

  /** Ends all connections, and refuses later calls. */
  close(): void {
    this.#closed = true;
    this.#channels.close();
  }

  async #next(method: { name: string }): Promise<Channel> {
    if (this.#closed) throw new PromptdError("canceled", `${method.name}: the client is closed`);
    return this.#channels.next();
  }

  #headers({ requestId, traceparent }: CallOptions): Headers {
    const headers = new Headers();
    if (this.#token) headers.set("authorization", `Bearer ${this.#token}`);
    if (requestId) headers.set("x-request-id", requestId);
    if (traceparent) headers.set("traceparent", traceparent);
    return headers;
  }

  #attempted(method: { name: string }, { timeoutMs, signal, requestId = "" }: CallOptions): Attempted {
    return { call: method.name, address: this.#channels.address, timeoutMs, signal, requestId };
  }
}

/** Whether the service said so itself, so that its address is in order. */
const isAnswer = ({ code, reason }: PromptdError) => code !== "unavailable" && (code !== "deadline_exceeded" || reason !== "");

/** What a promise gives, or the error of a deadline. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectError("no address in time", Code.DeadlineExceeded)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
