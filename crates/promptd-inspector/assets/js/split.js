// A list with the details of one of its items beside it; on a narrow page one takes the place of the other.

import { h, icon } from "./dom.js";

/** On a narrow page, where the list is hidden: the way back to it. @param {string} href @returns {HTMLElement} */
export function back(href) {
  return h("a", { class: "back", href }, icon("M10 3L5 8l5 5"), "All");
}

/**
 * Shows the list or the details where there is room for one; the focus goes along.
 * @param {HTMLElement} split with the list and the details
 * @param {boolean} chosen whether an item is
 * @param {() => void} [draw] draws them anew before that
 */
export function turnTo(split, chosen, draw = () => {}) {
  const held = split.contains(document.activeElement);
  draw();
  split.dataset.chosen = String(chosen);
  const active = document.activeElement;
  if (!held || (split.contains(active) && active.checkVisibility())) return;
  split.querySelector(chosen ? ".back" : ".split-list [aria-current], .split-list a")?.focus();
}

/** A table that scrolls by itself where it is too wide, by keyboard as well. @param {string} name @param {HTMLElement} table @returns {HTMLElement} */
export function scrolled(name, table) {
  return h("div", { class: "table-scroll", role: "region", "aria-label": name, tabindex: 0 }, table);
}
