// The newest of several calls: each ends the one before, so that a late answer never replaces a newer one.

import { isAbort } from "./errors.js";

/**
 * @param {(error: Error) => void} failed told of what goes wrong, unless a newer call or `stop` ended it
 * @returns {{run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>, stop: () => void}}
 */
export function latest(failed) {
  let control = new AbortController();
  return {
    async run(work) {
      control.abort();
      const { signal } = (control = new AbortController());
      try {
        await work(signal);
      } catch (error) {
        if (!signal.aborted && !isAbort(error)) failed(error);
      }
    },
    stop: () => control.abort(),
  };
}

/** Calls a function once the calls of it have paused. @param {(...values: any[]) => void} act @param {number} milliseconds @returns {{(...values: any[]): void, stop(): void}} */
export function paused(act, milliseconds) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds, ...values);
  };
  call.stop = () => clearTimeout(timer);
  return call;
}
