// Sessions: the stored conversations of the workspace, those that changed last first, and one of them as it goes on.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { parse } from "../router.js";
import { SessionDetail } from "../sessions/detail.js";
import { item } from "../sessions/item.js";
import { turnTo } from "../split.js";

const PAGE_SIZE = 100;
const REFRESH_MS = 3_000;

export const view = { id: "sessions", title: "Sessions", needsWorkspace: true, needsMemory: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let pages = 1;
  let drawn = "";
  const count = h("span", { class: "muted", dataset: { count: "sessions" } });
  const list = h("ul", { class: "card", "aria-label": "Sessions, the last changed first" });
  const more = h("button", { type: "button", class: "more", hidden: true, onclick: () => { pages += 1; load(); } }, "Show more");
  const detail = new SessionDetail(context);
  const split = h("div", { class: "split" }, h("div", { class: "split-list" }, list, more), detail.element);
  const body = h("div", {}, split);
  const loading = latest((error) => replace(body, errorCard(error)));

  // What changes moves to the front, so every page is read again.
  const load = () => loading.run(async (signal) => {
    const { workspaceId } = state;
    const sessions = [];
    let pageToken = "";
    for (let page = 0; page < pages && (page === 0 || pageToken); page += 1) {
      const answer = await rpc.call("SessionService/ListSessions", { workspaceId, pageSize: PAGE_SIZE, pageToken }, { signal });
      sessions.push(...answer.sessions ?? []);
      pageToken = answer.nextPageToken ?? "";
    }
    const stats = await rpc.call("SessionService/GetRecallStats", { workspaceId }, { signal });
    if (!split.isConnected) replace(body, split);
    more.hidden = !pageToken;
    replace(count, `${format.counted(stats.sessions ?? 0, "session")}, ${format.counted(stats.messages ?? 0, "message")}, ${format.bytes(stats.bytes)}`);
    draw(sessions);
  });
  const draw = (sessions) => {
    const items = sessions.map((session) => item(session, state));
    const now = items.map((each) => each.outerHTML).join("");
    if (now === drawn && list.children.length) return mark();
    drawn = now;
    const held = list.contains(document.activeElement) && document.activeElement.dataset.session;
    replace(list, items.length ? items : h("li", { class: "empty" }, "No conversation of this workspace is stored."));
    if (held) list.querySelector(`[data-session="${CSS.escape(held)}"]`)?.focus();
    mark();
  };
  const mark = () => {
    for (const link of list.querySelectorAll("[data-session]")) {
      if (link.dataset.session === chosen()) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const choose = () => turnTo(split, chosen() !== "", () => {
    detail.show(chosen());
    mark();
  });
  const timer = setInterval(() => document.visibilityState === "visible" && load(), REFRESH_MS);

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Sessions"), count), body);
  choose();
  load();
  return {
    refresh: ({ kind }) => kind === "route" && choose(),
    destroy: () => { clearInterval(timer); loading.stop(); detail.stop(); },
  };
}

function chosen() {
  return parse(location.hash).parameters.session ?? "";
}
