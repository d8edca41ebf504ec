// One segment: its summary as prompts show it, what it is made of, and what it saves.

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { format as address } from "../router.js";
import { back } from "../split.js";
import { compression, name, tags } from "./words.js";

/** The panel beside the tree. */
export class SegmentDetail {
  constructor() {
    /** @type {HTMLElement} */
    this.element = h("section", { class: "split-detail card", "aria-label": "Segment" });
  }

  /**
   * Shows a segment, or says how to choose one.
   * @param {import("./tree.js").Node} [node]
   * @param {object} view
   * @param {object} view.route what leads to the view as it is
   * @param {Set<string>} view.carried the ids of those whose summaries the prompt shows
   */
  show(node, { route, carried }) {
    const now = JSON.stringify([route, node?.stored, node?.children.length, carried.has(node?.stored.segment.id)]);
    if (now === this.drawn) return;
    this.drawn = now;
    if (!node) return replace(this.element, h("p", { class: "empty" }, "Choose a segment to read its summary."));
    const { stored, children } = node;
    const { segment, targetTokens = 0, fault } = stored;
    const to = (parameters) => address({ ...route, parameters: { ...route.parameters, ...parameters } });
    replace(this.element,
      h("div", { class: "detail-head" }, back(to({ segment: "" })),
        h("div", { class: "row spread" }, h("h2", {}, name(segment)), h("span", { class: "row" }, tags(stored, carried.has(segment.id)))),
        fault && h("p", { class: "why" }, h("bdi", {}, fault))),
      h("div", { class: "detail-block" }, h("p", { class: "small muted" }, [
        compression(stored),
        `at most ${format.counted(targetTokens, "token")} wanted`,
        children.length > 0 && `sums up ${format.counted(children.length, "segment")}`,
        segment.startTime && `${format.time(segment.startTime)} to ${format.time(segment.endTime)}`,
      ].filter(Boolean).join(" · ")),
      segment.parentId && h("a", { class: "small", href: to({ segment: segment.parentId }), dataset: { parent: segment.parentId } }, "The segment that sums it up")),
      segment.summary
        ? h("div", { class: "detail-block text", dataset: { summary: segment.id }, tabindex: 0, role: "group", "aria-label": "Summary" }, segment.summary)
        : h("p", { class: "empty" }, "There is no summary of it."));
  }
}
