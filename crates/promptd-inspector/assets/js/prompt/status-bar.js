// The line below the messages that says what is pointed at.

import { h, replace } from "../dom.js";
import { sizeOf } from "./origins.js";

const HINT = "Point at any text to see where it came from; click to open it. By keyboard: focus a message, then the arrow keys and Enter.";

/** @param {HTMLElement} root @param {import("./source-map.js").Pointed|null} pointed */
export function drawStatusBar(root, pointed) {
  if (!pointed) return replace(root, h("span", { class: "muted hint" }, HINT));
  const { origin, span, edited } = pointed;
  replace(root,
    h("span", { class: "tag" }, origin.kind), h("code", { class: "origin-name" }, nameOf(pointed)),
    h("span", { class: "muted" }, [origin.how, span && sizeOf(span)].filter(Boolean).join(" · ")),
    edited && h("span", { class: "tag warn" }, "edited since"));
}

/** What is pointed at, as one sentence. @param {import("./source-map.js").Pointed} pointed @returns {string} */
export function sentenceOf(pointed) {
  return [nameOf(pointed), pointed.origin.kind, pointed.origin.how, pointed.edited && "the file was edited since"].filter(Boolean).join(", ");
}

function nameOf({ origin, at, span }) {
  if (at) return `${origin.name}:${at.line}:${at.column}`;
  const start = origin.place?.range && span?.sourceStart;
  return start ? `${origin.name}, byte ${start}` : origin.name;
}
