// Notes: the summaries of the workspace's daily notes, those made last first, and why there is no newer one.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";

const REFRESH_MS = 3_000;

export const view = { id: "notes", title: "Notes", needsWorkspace: true, needsMemory: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let drawn = "";
  const count = h("span", { class: "muted", dataset: { count: "notes" } });
  const fault = h("p", { class: "why view-note", hidden: true, dataset: { fault: "" } });
  const list = h("ol", { class: "card said-list", "aria-label": "Summaries of notes, those made last first" });
  const body = h("div", {}, list);
  const loading = latest((error) => {
    drawn = "";
    replace(body, errorCard(error));
  });

  const load = () => loading.run(async (signal) => {
    const { workspaceId } = state;
    const answer = await rpc.call("SessionService/ListNotesSummaries", { workspaceId }, { signal });
    const now = JSON.stringify([workspaceId, answer]);
    if (now === drawn) return;
    drawn = now;
    const { summaries = [], fault: why = "" } = answer;
    if (!list.isConnected) replace(body, list);
    replace(count, format.counted(summaries.length, "summary", "summaries"));
    fault.hidden = why === "";
    replace(fault, h("bdi", {}, why));
    replace(list, summaries.length ? summaries.map(item) : h("li", { class: "empty" },
      "There is no summary. One is made when a profile that shows it, such as kern, is asked for the prompt of a session, and the workspace has notes of two days or more."));
  });
  const timer = setInterval(() => document.visibilityState === "visible" && load(), REFRESH_MS);

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Notes"), count, fault), body);
  load();
  return { refresh: () => {}, destroy: () => { clearInterval(timer); loading.stop(); } };
}

function item({ firstNote = "", lastNote = "", summary = "", summaryTokens = 0, madeAt }, index) {
  const of = firstNote === lastNote ? h("bdi", {}, firstNote) : [h("bdi", {}, firstNote), " to ", h("bdi", {}, lastNote)];
  return h("li", { class: "said", dataset: { notes: String(index) } },
    h("div", { class: "row spread small" }, h("span", { class: "row" }, h("strong", {}, of), index === 0 && h("span", { class: "tag good" }, "newest")),
      h("span", { class: "muted" }, `${format.counted(summaryTokens, "token")} · ${format.time(madeAt)}`)),
    h("div", { class: "text said-text", tabindex: 0, role: "group", "aria-label": `Summary ${index + 1}` }, summary));
}
