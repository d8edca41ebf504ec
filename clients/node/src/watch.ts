/** States as they come, over lost connections too. */
import type { DescMessage, DescMethodServerStreaming, MessageShape } from "@bufbuild/protobuf";

import type { Caller } from "./caller.js";
import { PromptdError } from "./errors.js";
import type { Shown } from "./plain.js";
import { backoffMs, sleep } from "./policy.js";

/** The longest wait before a watch is opened again, in milliseconds. */
const WATCH_BACKOFF_MS = 500;

/**
 * Follows what `given` names, until the signal is aborted or a state is `deleted`. `known` says what the next request has of a state,
 * so that nothing is sent twice. @internal
 */
export async function* follow<I extends DescMessage, O extends DescMessage>(
  caller: Caller, method: DescMethodServerStreaming<I, O>, given: object, known: (state: Shown<MessageShape<O>>) => object,
  signal?: AbortSignal,
): AsyncGenerator<Shown<MessageShape<O>>, void, undefined> {
  let asked = given;
  for (let failures = 0; !signal?.aborted; ) {
    try {
      for await (const state of caller.plainStream(method, asked, signal ? { signal } : {})) {
        failures = 0;
        asked = { ...asked, ...known(state) };
        yield state;
        if ((state as { deleted?: boolean }).deleted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof PromptdError) || error.code !== "unavailable") throw error;
    }
    await sleep(backoffMs(++failures, WATCH_BACKOFF_MS), signal);
  }
}
