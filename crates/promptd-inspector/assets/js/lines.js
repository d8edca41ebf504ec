// A text with the numbers of its lines.

import { h } from "./dom.js";
import * as format from "./format.js";

const MOST_SHOWN = 20_000; // characters of one text on one line: browsers take many seconds to break a line of a million
const CHUNK = 200; // lines that are drawn, or left until they are scrolled to, together

/**
 * Draws a text line by line. The numbers are not part of the text that one selects.
 * @param {string} text
 * @param {string} name for screen readers: what it is the text of
 * @returns {HTMLElement}
 */
export function numberedLines(text, name) {
  const lines = text.replace(/(\r\n|\r|\n)$/, "").split(/\r\n|\r|\n/);
  const chunks = [];
  for (let first = 0; first < lines.length; first += CHUNK) chunks.push(chunk(lines.slice(first, first + CHUNK), first + 1));
  return h("div", { class: "text lines", role: "region", "aria-label": name, tabindex: 0 }, chunks);
}

function chunk(lines, first) {
  return h("div", { class: "file-chunk" }, lines.map((line, index) =>
    h("div", { class: "file-line", dataset: { line: first + index } }, h("span", {}, shortened(line)))));
}

/** The beginning of a very long text, and how much more there is. @param {string} text @returns {Array<string|Node>} */
export function shortened(text) {
  if (text.length <= MOST_SHOWN) return [text];
  return [text.slice(0, MOST_SHOWN), h("span", { class: "tag" }, `… ${format.number(text.length - MOST_SHOWN)} more characters`)];
}

/** The text of bytes as ProtoJSON has them. @param {string} [base64] @returns {string|null} null: they are not text */
export function textOf(base64 = "") {
  const bytes = bytesOf(base64);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** @param {string} [base64] @returns {Uint8Array} */
export function bytesOf(base64 = "") {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
