// Recall: what the workspace has stored, and a search through it.

import { h, icon, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest, paused } from "../latest.js";
import { format as address, navigate, parse } from "../router.js";
import { message } from "../sessions/words.js";

const LIMIT = 20;
const TYPING_MS = 200;

export const view = { id: "recall", title: "Recall", needsWorkspace: true, needsMemory: true, mount };

function mount(root, context) {
  const { state, rpc, say } = context;
  const stats = h("p", { class: "muted small view-note", dataset: { stats: "" } });
  const found = h("div", { class: "stack" });
  const searching = latest((error) => replace(found, errorCard(error)));
  const counting = latest(context.report);
  const words = h("input", {
    type: "search", "aria-label": "Words to find", placeholder: "Words that were said", autocomplete: "off", spellcheck: "false", maxlength: 1024,
    oninput: () => typed(),
  });
  const session = h("input", {
    type: "text", "aria-label": "Only of this session", placeholder: "All sessions", autocomplete: "off", spellcheck: "false", maxlength: 64, oninput: () => typed(),
  });
  const typed = paused(() => {
    const { workspaceId, profile, revision } = state;
    navigate({ workspaceId, viewId: "recall", parameters: { profile, revision, query: words.value.trim(), session: session.value.trim() } }, true);
  }, TYPING_MS);

  const search = () => {
    const { query = "", session: sessionId = "" } = parse(location.hash).parameters;
    if (words.value.trim() !== query) words.value = query;
    if (session.value.trim() !== sessionId) session.value = sessionId;
    return searching.run(async (signal) => {
      if (!query) return replace(found, h("p", { class: "empty" }, "The messages that match best appear here while you type."));
      const { messages = [], vectorFault } = await rpc.call("SessionService/Recall", { workspaceId: state.workspaceId, query, sessionId, limit: LIMIT }, { signal });
      replace(found, messages.length
        ? h("ol", { class: "card said-list", "aria-label": "Messages, the best first" }, messages.map((each) => recalled(each, state)))
        : h("p", { class: "empty" }, "No message matches."),
        vectorFault && h("p", { class: "muted small", dataset: { fault: "" } }, `Found by words alone: ${vectorFault}.`));
      say(`${format.counted(messages.length, "message")} found.`);
    });
  };
  const count = () => counting.run(async (signal) => {
    const answer = await rpc.call("SessionService/GetRecallStats", { workspaceId: state.workspaceId }, { signal });
    const { sessions = 0, messages = 0, bytes, firstAt, lastAt, vectors = 0, vectorModel } = answer;
    replace(stats, [
      format.counted(messages, "message"), format.counted(sessions, "session"), format.bytes(bytes),
      firstAt && `from ${format.time(firstAt)} to ${format.time(lastAt)}`, vectorModel && `${vectors} with a vector of ${vectorModel}`,
    ].filter(Boolean).join(" · "));
  });

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Recall"),
    h("label", { class: "search" }, icon("M7 12A5 5 0 107 2a5 5 0 000 10zM11 11l3 3"), words),
    h("label", { class: "check" }, "in", session), stats), found);
  count();
  search();
  return {
    refresh: ({ kind }) => kind === "route" && search(),
    destroy: () => { typed.stop(); searching.stop(); counting.stop(); },
  };
}

function recalled({ sessionId, message: stored, similarity }, { workspaceId, profile, revision }) {
  const href = address({ workspaceId, viewId: "sessions", parameters: { profile, revision, session: sessionId } });
  return message(stored, h("a", { href, dataset: { recalled: sessionId } }, h("bdi", {}, sessionId)),
    h("span", { class: "muted" }, similarity === undefined ? "by its words" : `similarity ${similarity.toFixed(2)}`));
}
