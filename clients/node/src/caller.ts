/** Makes calls: headers, deadline, retries, and the one type of error. */
import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

import { failed, type Attempted, type PromptdError } from "./errors.js";
import type { CallOptions } from "./plain.js";
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

  constructor(channels: Channels, token?: string, timeoutMs = TIMEOUT_MS) {
    this.#channels = channels;
    this.#token = token;
    this.#timeoutMs = timeoutMs;
  }

  /** One call, tried again while it is UNAVAILABLE, the deadline allows, and `attempts` are left. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, message: MessageShape<I>, options: CallOptions = {}, attempts = MAX_ATTEMPTS,
  ): Promise<MessageShape<O>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const deadline = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const left = deadline - performance.now();
      const [answer, again] = await this.#attempt(method, message, { ...options, timeoutMs }, left);
      if ("message" in answer && !(answer instanceof Error)) return answer.message;
      const error = answer as PromptdError;
      const wait = Math.max(again ? 0 : backoffMs(attempt), error.retryAfterMs ?? 0);
      const over = performance.now() + wait >= deadline || options.signal?.aborted;
      if (error.code !== "unavailable" || attempt >= attempts || over) throw error;
      await sleep(wait, options.signal);
    }
  }

  async #attempt<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>, message: MessageShape<I>, options: CallOptions, leftMs: number,
  ): Promise<[{ message: MessageShape<O> } | PromptdError, boolean]> {
    let channel: Channel | undefined;
    try {
      channel = await this.#channels.next();
      const limit = Math.max(1, Math.round(leftMs));
      const answer = await channel.transport.unary(method, options.signal, limit, this.#headers(options), message as never);
      channel.served(true);
      return [answer, false];
    } catch (thrown) {
      const error = failed(thrown, this.#attempted(method, options));
      return [error, channel?.served(error.code !== "unavailable") ?? false];
    }
  }

  /** A stream of answers. It has no deadline of its own, and is not tried again. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>, message: MessageShape<I>, options: CallOptions = {},
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    let channel: Channel | undefined;
    try {
      channel = await this.#channels.next();
      const input = (async function* () { yield message; })() as never;
      const answers = await channel.transport.stream(method, options.signal, options.timeoutMs, this.#headers(options), input);
      for await (const answer of answers.message) {
        channel.served(true);
        yield answer;
      }
    } catch (thrown) {
      const error = failed(thrown, this.#attempted(method, options));
      channel?.served(error.code !== "unavailable");
      throw error;
    }
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
