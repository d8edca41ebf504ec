// One segment in the tree, with what it sums up below it.

import { h } from "../dom.js";
import * as format from "../format.js";
import { format as address } from "../router.js";
import { compression, name, tags } from "./words.js";

/**
 * @param {import("./tree.js").Node} node
 * @param {object} view
 * @param {object} view.route what leads to the view as it is
 * @param {Set<string>} view.carried the ids of those whose summaries the prompt shows
 * @param {Set<string>} view.open the ids of those whose children are shown; a click changes it
 * @returns {HTMLElement}
 */
export function item({ stored, children }, view) {
  const { segment, state } = stored;
  const { id, level = 0 } = segment;
  const carried = view.carried.has(id);
  const href = address({ ...view.route, parameters: { ...view.route.parameters, segment: id } });
  const link = h("a", { class: "split-item", href, dataset: { segment: id, level: String(level), state: format.enumName(state.replace("SEGMENT_", "")), carried: String(carried) } },
    h("span", { class: "row spread" }, h("span", { class: "split-name" }, name(segment)), h("span", { class: "row" }, tags(stored, carried))),
    h("span", { class: "small muted" }, compression(stored)));
  if (!children.length) return h("li", { class: "branch" }, link);
  const below = h("ul", { class: "branch-below", "aria-label": `What ${name(segment)} sums up`, hidden: !view.open.has(id) });
  const fill = () => view.open.has(id) && below.append(...children.map((child) => item(child, view)));
  const toggle = h("button", { type: "button", class: "branch-toggle", "aria-expanded": String(view.open.has(id)), "aria-label": `${format.counted(children.length, "segment")} below ${name(segment)}`, dataset: { toggle: id }, onclick: () => {
    if (!view.open.delete(id)) view.open.add(id);
    below.hidden = !view.open.has(id);
    toggle.setAttribute("aria-expanded", String(view.open.has(id)));
    below.replaceChildren();
    fill();
  } });
  fill();
  return h("li", { class: "branch" }, toggle, link, below);
}
