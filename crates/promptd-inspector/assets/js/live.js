// Follows one workspace: every revision that the server publishes, with back-off where the connection is lost.

import { stream } from "./rpc.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
const FINAL = new Set(["not_found", "permission_denied", "invalid_argument", "unauthenticated"]);

/**
 * Watches a workspace until it is stopped, deleted, or the server says that it is not for this caller.
 * @param {string} workspaceId
 * @param {object} listener
 * @param {(live: "connecting"|"connected"|"reconnecting"|"gone") => void} listener.live
 * @param {(workspace: object, changedPaths: string[], first: boolean) => void} listener.published
 * @param {(error: Error) => void} listener.failed when watching cannot go on
 * @returns {() => void} stops it
 */
export function watch(workspaceId, listener) {
  const control = new AbortController();
  run(workspaceId, listener, control.signal).catch((error) => {
    if (!control.signal.aborted) listener.failed(error);
  });
  return () => control.abort();
}

async function run(workspaceId, { live, published, failed }, signal) {
  let known = "";
  let wait = FIRST_WAIT_MS;
  live("connecting");
  while (!signal.aborted) {
    try {
      const quiet = setTimeout(() => known && live("connected"), FIRST_WAIT_MS); // nothing is sent while the known one is current
      try {
        for await (const { workspace, changedPaths = [], deleted } of stream("WorkspaceService/WatchWorkspace", { workspaceId, knownRevision: known }, { signal })) {
          if (signal.aborted) return;
          if (deleted) return live("gone");
          live("connected");
          wait = FIRST_WAIT_MS;
          published(workspace, changedPaths, known === "");
          known = workspace.revision ?? "";
        }
      } finally {
        clearTimeout(quiet);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (FINAL.has(error.code)) {
        live("gone");
        return failed(error);
      }
    }
    live("reconnecting");
    await pause(wait, signal);
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  }
}

// Waits, or until the browser is online or looked at again.
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      document.removeEventListener("visibilitychange", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds * (0.75 + Math.random() / 2));
    addEventListener("online", end);
    document.addEventListener("visibilitychange", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
