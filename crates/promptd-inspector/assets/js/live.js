// Follows one workspace, or one stored session: every state that the server publishes, with back-off where the connection is lost.
// A page that nobody sees holds no connection: browsers open only six to one address.

import { stream } from "./rpc.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
const FINAL = new Set(["not_found", "permission_denied", "invalid_argument", "unauthenticated"]);
const GONE_WAIT_MS = 2_000; // a folder that was removed may come back, as with a checkout

const SEEN_EVENTS = ["visibilitychange", "pagehide", "pageshow"];
let left = false; // the browser went to another page, and may come back to this one
addEventListener("pagehide", () => { left = true; });
addEventListener("pageshow", () => { left = false; });

/**
 * Watches a workspace until it is stopped, or the server says that it is not for this caller. One that was there and is
 * gone is waited for.
 * @param {string} workspaceId
 * @param {object} listener
 * @param {(live: "connecting"|"connected"|"reconnecting"|"gone") => void} listener.live
 * @param {(workspace: object, changedPaths: string[], first: boolean) => void} listener.published
 * @param {(error: Error) => void} listener.failed when watching cannot go on
 * @returns {() => void} stops it
 */
export function watch(workspaceId, listener) {
  return start({
    method: "WorkspaceService/WatchWorkspace",
    request: (knownRevision) => ({ workspaceId, knownRevision }),
    known: ({ workspace }) => workspace.revision,
    published: ({ workspace, changedPaths = [] }, first) => listener.published(workspace, changedPaths, first),
  }, listener);
}

/**
 * Watches a stored session, in the same way.
 * @param {string} workspaceId
 * @param {string} sessionId
 * @param {object} listener
 * @param {(live: "connecting"|"connected"|"reconnecting"|"gone") => void} listener.live
 * @param {(session: object) => void} listener.published
 * @param {(error: Error) => void} listener.failed when watching cannot go on
 * @returns {() => void} stops it
 */
export function watchSession(workspaceId, sessionId, listener) {
  return start({
    method: "SessionService/WatchSession",
    request: (knownPosition) => ({ workspaceId, sessionId, knownPosition }),
    known: ({ session }) => session.position ?? "0",
    published: ({ session }) => listener.published(session),
  }, listener);
}

function start(subject, listener) {
  const control = new AbortController();
  run(subject, listener, control.signal).catch((error) => {
    if (!control.signal.aborted) listener.failed(error);
  });
  return () => control.abort();
}

async function run(subject, listener, stopped) {
  const held = { known: undefined, was: false, gone: false };
  let wait = FIRST_WAIT_MS;
  listener.live("connecting");
  while (!stopped.aborted) {
    await seen(stopped);
    const unseen = new AbortController();
    const leave = () => isSeen() || unseen.abort();
    for (const event of SEEN_EVENTS) addEventListener(event, leave);
    try {
      for await (const _ of follow(subject, held, listener, AbortSignal.any([stopped, unseen.signal]))) wait = FIRST_WAIT_MS;
    } catch (error) {
      if (stopped.aborted) return;
      held.gone ||= held.was && error.code === "not_found";
      if (FINAL.has(error.code) && !held.gone) {
        listener.live("gone");
        return listener.failed(error);
      }
    } finally {
      for (const event of SEEN_EVENTS) removeEventListener(event, leave);
    }
    if (unseen.signal.aborted) continue;
    listener.live(held.gone ? "gone" : "reconnecting");
    await pause(held.gone ? GONE_WAIT_MS : wait, stopped);
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  }
}

// One connection: tells of every state that is not known already. While the one that is known is current, nothing is sent.
async function* follow(subject, held, { live }, signal) {
  const known = held.gone ? undefined : held.known;
  const opened = () => known !== undefined && live("connected");
  for await (const state of stream(subject.method, subject.request(known), { signal, opened })) {
    if (signal.aborted) return;
    if (state.deleted) {
      held.gone = true;
      return;
    }
    const first = !held.was;
    Object.assign(held, { was: true, gone: false, known: subject.known(state) });
    live("connected");
    subject.published(state, first);
    yield;
  }
}

function isSeen() {
  return !document.hidden && !left;
}

// Waits until the page is in view.
function seen(signal) {
  return new Promise((resolve) => {
    const check = () => {
      if (!isSeen() && !signal.aborted) return;
      for (const event of SEEN_EVENTS) removeEventListener(event, check);
      resolve();
    };
    for (const event of SEEN_EVENTS) addEventListener(event, check);
    signal.addEventListener("abort", check, { once: true });
    check();
  });
}

// Waits, or until the browser is online again.
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds * (0.75 + Math.random() / 2));
    addEventListener("online", end);
    signal.addEventListener("abort", end, { once: true });
  });
}
