// Errors of calls, as people see them: what went wrong, where, and what to do.

import { h, icon } from "./dom.js";

const ADVICE = {
  UNREACHABLE: "The page tries again by itself. Is `promptd` still running at this address?",
  UNIMPLEMENTED: "The server is older than this page: serve both from the same version.",
  REVISION_EXPIRED: "The server no longer holds this revision. Choose the newest one.",
  WORKSPACE_NOT_FOUND: "Choose another workspace, or put its folder back.",
  WORKSPACE_INVALID: "Correct the files that are named and save; the page follows.",
  BUDGET_TOO_SMALL: "Raise the budget, or leave out what it has no room for.",
  PROMPT_LOSS: "Raise the limits of what was cut, or shorten it.",
  unauthenticated: "Sign in with a token of this server.",
  permission_denied: "The workspace locks this, or the token may not see it.",
  invalid_argument: "Correct the fields that are named.",
  resource_exhausted: "The answer or the request is larger than the server allows (`grpc.max_message_size`).",
  deadline_exceeded: "The server took too long. Try again.",
  unavailable: "The server is busy. Try again in a moment.",
};

/** What to do about an error. @param {{code?: string, reason?: string}} error @returns {string} */
function advice(error) {
  return ADVICE[error.reason] ?? ADVICE[error.code] ?? "";
}

/**
 * An error with its reason, its fields and what to do.
 * @param {import("./rpc.js").RpcError|Error} error
 * @param {() => void} [dismiss] also gives it a button that closes it
 * @returns {HTMLElement}
 */
export function errorCard(error, dismiss) {
  const name = error.reason || error.code || error.name;
  const todo = advice(error);
  return h("div", { class: "error-card", dataset: { reason: name } },
    h("div", { class: "row spread" },
      h("strong", {}, h("code", {}, name)),
      dismiss && h("button", { class: "quiet", "aria-label": "Dismiss this error", onclick: dismiss }, icon("M4 4l8 8M12 4l-8 8"))),
    !isRepeated(error) && h("p", {}, error.message),
    error.violations?.length > 0 && h("ul", { class: "violations" }, error.violations.map((each) =>
      h("li", {}, each.field && [h("code", {}, each.field), " "], each.description))),
    todo && h("p", { class: "muted" }, todo.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part))));
}

// Whether the message says nothing but what the violations say.
function isRepeated({ message, violations = [] }) {
  return violations.length > 0 && message.startsWith("invalid request");
}

/** Whether a call was ended by the page itself, which nobody needs to be told. @param {Error} error @returns {boolean} */
export function isAbort(error) {
  return error?.name === "AbortError";
}
