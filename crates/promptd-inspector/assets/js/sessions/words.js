// What is said of a stored session, in words.

import { h } from "../dom.js";
import * as format from "../format.js";
import { shares } from "../shares.js";

const ROLES = [["user", "userMessages"], ["assistant", "assistantMessages"], ["tool", "toolMessages"], ["system", "systemMessages"]];
const UNITS = [["d", 86_400], ["h", 3_600], ["min", 60], ["s", 1]];

/** How long a session has gone on: `2 h 5 min`. @param {object} session @returns {string} */
export function duration({ createdAt, changedAt }) {
  let left = Math.max(0, Math.round((Date.parse(changedAt) - Date.parse(createdAt)) / 1000));
  const parts = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(left / length);
    left -= count * length;
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
  }
  return parts.join(" ") || "0 s";
}

/** A session's messages by role. @param {object} session @returns {HTMLElement} */
export function roles(session) {
  const counted = ROLES.map(([kind, field]) => ({ kind, count: Number(session[field] ?? 0) })).filter(({ count }) => count > 0);
  return shares("Messages by role", counted.map(({ kind, count }) => ({ kind, count, words: `${format.number(count)} ${kind}` })));
}

/** A stored message. @param {object} stored @param {HTMLElement[]} [notes] beside its role @returns {HTMLElement} */
export function message(stored, ...notes) {
  const { message: said = {}, position = "0", storedAt } = stored;
  const role = format.enumName(said.role);
  return h("li", { class: "said", dataset: { position } },
    h("div", { class: "row spread small" },
      h("span", { class: "row" }, h("span", { class: "share-key", dataset: { kind: role }, "aria-hidden": "true" }), h("strong", {}, role),
        said.name && h("bdi", { class: "muted" }, said.name), notes),
      h("span", { class: "muted", title: `Stored ${format.time(storedAt)}` }, `position ${format.number(position)} · ${format.time(said.time ?? storedAt)}`)),
    said.content && h("div", { class: "text said-text", tabindex: 0, role: "group", "aria-label": `Text of position ${position}` }, said.content),
    (said.toolCalls ?? []).map(({ name = "", argumentsJson = "" }) => h("pre", { class: "text" }, `${name} ${argumentsJson}`)));
}
