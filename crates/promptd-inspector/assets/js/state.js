// What the page shows now, for all its parts. The turn is kept in the browser, one for each workspace; the token never is.

/**
 * @typedef {object} State
 * @property {string} workspaceId
 * @property {string} profile empty: the workspace's own
 * @property {string} revision empty: the newest
 * @property {object} turn as in the contract, in snake_case
 * @property {string} tokenEncoding empty: no tokens are counted
 * @property {object|null} workspace as last published, with its findings
 * @property {"connecting"|"connected"|"reconnecting"|"gone"} live
 * @property {object|null} prompt the last answer of AssemblePrompt
 * @property {object|null} promptError why the newest call gave none
 * @property {boolean} promptLate whether an answer is waited for so long that `prompt` is an older one
 */

/** @type {State} */
export const state = {
  workspaceId: "", profile: "", revision: "", turn: {}, tokenEncoding: "o200k_base",
  workspace: null, live: "connecting", prompt: null, promptError: null, promptLate: false,
};

const listeners = new Set();

/** Tells of changes, with the names of what changed. @param {(keys: string[]) => void} listener @returns {() => void} stops it */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Changes the state. A new workspace brings its kept turn along. @param {Partial<State>} changes */
export function update(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  if (state.workspaceId !== before.workspaceId) {
    if (!("turn" in changes)) state.turn = kept(turnKey(), {});
    Object.assign(state, { workspace: null, prompt: null, promptError: null, promptLate: false }, changes);
  }
  const keys = Object.keys(state).filter((key) => state[key] !== before[key]);
  if (state.workspaceId && keys.includes("turn")) keep(turnKey(), state.turn);
  if (keys.length) for (const listener of [...listeners]) listener(keys);
}

/** Reads what the browser keeps; what is of another kind than `otherwise` counts as nothing. @param {string} key @param {any} otherwise @returns {any} */
export function kept(key, otherwise) {
  try {
    const value = JSON.parse(localStorage.getItem(key));
    return kindOf(value) === kindOf(otherwise) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

/** Has the browser keep a value; where it keeps nothing, the page works on without. @param {string} key @param {any} value */
export function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Storage is full or switched off.
  }
}

function kindOf(value) {
  return value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
}

function turnKey() {
  return `promptd.turn.${state.workspaceId}`;
}
