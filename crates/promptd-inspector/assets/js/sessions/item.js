// One session in the list.

import { h } from "../dom.js";
import * as format from "../format.js";
import { format as address } from "../router.js";
import { duration, roles } from "./words.js";

/** How long after a change a session counts as live, in milliseconds. */
const LIVE_MS = 60_000;

/** @param {object} session @param {object} state @param {number} [now] in milliseconds @returns {HTMLElement} */
export function item(session, { workspaceId, profile, revision }, now = Date.now()) {
  const { id, changedAt } = session;
  const href = address({ workspaceId, viewId: "sessions", parameters: { profile, revision, session: id } });
  const live = now - Date.parse(changedAt) < LIVE_MS;
  return h("li", {}, h("a", { class: "split-item", href, dataset: { session: id } },
    h("span", { class: "row spread" }, h("bdi", { class: "split-name" }, id), live && h("span", { class: "tag good", title: "It changed within the last minute" }, "live")),
    h("span", { class: "small muted" }, [format.counted(session.messageCount ?? 0, "message"), duration(session), format.age(changedAt, now)].join(" · ")),
    roles(session)));
}
