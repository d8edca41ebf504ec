// Long texts in blocks of some lines each: the browser lays out those that are looked at, and leaves the others.

import { h } from "../dom.js";
import { shortened } from "../lines.js";

const BLOCK_LINES = 100;

/** Collects lines, as text and elements. */
export class Lines {
  constructor() {
    /** @type {HTMLElement} */ this.element = h("code", {});
    this.count = 0;
    this.begin();
  }

  /** Goes on in this line. @param {...(string|Node)} parts */
  append(...parts) {
    this.block.append(...parts.flatMap((part) => (typeof part === "string" ? shortened(part) : part)));
  }

  /** Begins the next line. */
  next() {
    this.block.append("\n"); // at the end of a block it makes no line of its own
    this.count += 1;
    if (this.count % BLOCK_LINES === 0) this.begin();
  }

  begin() {
    this.block = this.element.appendChild(h("span", { class: "sent-block" }));
  }
}

/** A plain text. @param {string} text @returns {HTMLElement} */
export function drawPlain(text) {
  const lines = new Lines();
  text.split("\n").forEach((line, index) => {
    if (index > 0) lines.next();
    lines.append(line);
  });
  return lines.element;
}
