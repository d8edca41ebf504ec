// The text of one message on the page: exactly its content, in blocks that are laid out only while they can be seen. Names,
// notes and marks are pseudo-elements, so that the text stays the text.

import { h } from "../dom.js";
import { number } from "../format.js";
import { hiddenIn } from "./hidden.js";

const BLOCK = 4_000; // characters of a block; it ends with a line
const LONGEST_LINE = 32_000; // a longer line goes on in the next block
const COLUMNS = 96; // to estimate a block's height before it is laid out
const LINE_REM = 1.26; // as .text in controls.css
const LONGEST_LABEL = 14; // characters of a name that fit in the margin
const MOST_MARKS = 5_000; // hidden characters of one part that are marked

/** @type {WeakMap<Text, {part: TextPart, start: number}>} */
const places = new WeakMap();

/**
 * One part of a message on the page.
 * @typedef {object} TextPart
 * @property {HTMLElement} element
 * @property {Array<{node: Text, start: number}>} nodes in order; `start` is an index in the part
 * @property {string} text
 * @property {number} start index of the part in the message
 * @property {import("./account.js").Entry} entry its message, as last drawn
 */

/**
 * Draws a part.
 * @param {import("./account.js").Entry} entry
 * @param {import("./account.js").Part} part
 * @param {{hidden: boolean, hue: number}} look
 * @returns {TextPart}
 */
export function drawPart(entry, part, { hidden, hue }) {
  const text = entry.message.content.slice(part.start, part.end);
  const made = { text, start: part.start, entry, nodes: [], element: null };
  const marks = [...markers(entry, part), ...(hidden ? hiddenMarks(text) : [])].sort((a, b) => a.start - b.start);
  const blocks = blocksOf(text).map(([start, end, goesOn]) => drawBlock(made, start, end, goesOn, marks));
  if (!part.section) made.element = h("div", { class: "separator" }, blocks);
  else made.element = h("div", {
    class: ["segment", part.joined && "joined"], style: { "--hue": hue },
    dataset: { section: part.section.id, outcome: part.section.outcome, label: label(part.section, entry.message.name) },
  }, h("div", { class: "segment-text" }, blocks));
  return made;
}

/** Draws a section that has no text here, in its place: an element without text. @param {object} section @param {string} message its name @returns {HTMLElement} */
export function drawLeftOut(section, message) {
  const outcome = { OUTCOME_DROPPED: "dropped", OUTCOME_OMITTED: "omitted", OUTCOME_TRUNCATED: "cut" }[section.outcome] ?? "limited";
  return h("div", { class: "left-out", dataset: { section: section.id, outcome: section.outcome, label: label(section, message), note: `${outcome}: ${section.reason ?? ""}` } });
}

/** Draws the line up to which a provider's cache can hold. @param {number} bytes @returns {HTMLElement} */
export function drawCacheLine(bytes) {
  return h("div", { class: "cache-line", dataset: { note: `Cacheable up to here: ${number(bytes)} bytes stay the same from turn to turn` } });
}

/** What is at a place in a text node of a message. @param {Node} node @param {number} offset @returns {{entry: object, index: number}|null} */
export function placeOf(node, offset) {
  const place = places.get(node);
  return place ? { entry: place.part.entry, index: place.part.start + place.start + offset } : null;
}

/**
 * The range of the page that shows a stretch of a message.
 * @param {TextPart[]} parts of the message, in order
 * @param {number} start index in the message
 * @param {number} end
 * @returns {Range|null}
 */
export function rangeOf(parts, start, end) {
  const from = boundary(parts, start, false);
  const to = boundary(parts, end, true);
  if (!from || !to) return null;
  const range = new Range();
  range.setStart(from.node, from.offset);
  range.setEnd(to.node, to.offset);
  return range;
}

function label(section, message) {
  const name = section.id.startsWith(`${message}/`) ? section.id.slice(message.length + 1) : section.id;
  const lines = name.length > LONGEST_LABEL ? name.replace(/\/(?=[^/]*$)/, "/\n").replaceAll("_", "_\u200b") : name;
  return section.outcome === "OUTCOME_TRUNCATED" ? `${lines}\ncut` : lines;
}

// At a border, a stretch begins in the node behind it and ends in the node before it.
function boundary(parts, index, ends) {
  const part = lastWhere(parts, (each) => each.start < index || (!ends && each.start === index)) ?? parts[0];
  if (!part) return null;
  const inside = index - part.start;
  const place = lastWhere(part.nodes, (each) => each.start < inside || (!ends && each.start === inside)) ?? part.nodes[0];
  return place ? { node: place.node, offset: Math.min(inside - place.start, place.node.length) } : null;
}

function lastWhere(list, holds) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(list[middle])) low = middle + 1;
    else high = middle;
  }
  return list[low - 1];
}

function blocksOf(text) {
  const blocks = [];
  for (let start = 0; start < text.length;) {
    const line = text.indexOf("\n", Math.min(start + BLOCK, text.length));
    let end = line < 0 ? text.length : line + 1;
    if (end - start > LONGEST_LINE) {
      const earlier = text.lastIndexOf("\n", start + LONGEST_LINE) + 1;
      end = earlier > start ? earlier : wholeCharacter(text, start + LONGEST_LINE);
    }
    blocks.push([start, end, text[end - 1] !== "\n" && end < text.length]);
    start = end;
  }
  return blocks;
}

function wholeCharacter(text, index) {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code < 0xe000 ? index + 1 : index;
}

function drawBlock(made, start, end, goesOn, marks) {
  const pieces = [];
  const add = (from, to, wrap) => {
    if (from >= to) return;
    const node = document.createTextNode(made.text.slice(from, to));
    places.set(node, { part: made, start: from });
    made.nodes.push({ node, start: from });
    pieces.push(wrap ? wrap(node) : node);
  };
  let at = start;
  for (const mark of marks) {
    if (mark.end <= at || mark.start >= end) continue;
    add(at, mark.start);
    add(Math.max(at, mark.start), Math.min(end, mark.end), mark.wrap);
    at = Math.min(end, mark.end);
  }
  add(at, end);
  return h("div", { class: ["block text", goesOn && "goes-on"], style: { "contain-intrinsic-block-size": `auto ${(linesOf(made.text.slice(start, end)) * LINE_REM).toFixed(1)}rem` } }, pieces);
}

function linesOf(text) {
  return text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / COLUMNS)), 0);
}

// The service's own words for what was left out.
function markers(entry, part) {
  return (part.section?.spans ?? []).filter((span) => span.how === "HOW_MARKER").map((span) => {
    const [start, end] = [entry.utf8.toIndex(span.byteStart ?? 0), entry.utf8.toIndex(span.byteEnd ?? 0)];
    const text = entry.message.content.slice(start, end);
    const space = text.length - text.trimStart().length;
    return { start: start + space - part.start, end: start + text.trimEnd().length - part.start, wrap: (node) => h("mark", { class: "cut-marker" }, node) };
  });
}

function hiddenMarks(text) {
  const marks = [];
  for (const { index, length, name } of hiddenIn(text)) {
    if (marks.length === MOST_MARKS) break;
    marks.push({ start: index, end: index + length, wrap: (node) => h("span", { class: "hidden-character", dataset: { name } }, node) });
  }
  return marks;
}
