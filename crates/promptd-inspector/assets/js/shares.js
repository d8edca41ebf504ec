// A bar of shares, and the same in words.

import { h } from "./dom.js";

/**
 * Draws shares of a whole.
 * @param {string} name of the whole, for screen readers
 * @param {Array<{kind: string, count: number, words: string}>} parts `kind` names the colour
 * @returns {HTMLElement}
 */
export function shares(name, parts) {
  return h("div", { class: "shares" },
    h("div", { class: "shares-bar", "aria-hidden": "true" }, parts.filter(({ count }) => count > 0).map(({ kind, count }) =>
      h("span", { dataset: { kind }, style: { "flex-grow": count } }))),
    h("ul", { class: "row small", "aria-label": name }, parts.map(({ kind, count, words }) =>
      h("li", { dataset: { share: kind, count: String(count) } }, h("span", { class: "share-key", dataset: { kind }, "aria-hidden": "true" }), words))));
}
