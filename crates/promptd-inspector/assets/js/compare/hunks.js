// What differs between two texts: by lines, with the words that differ marked; below each other, or side by side.

import { h } from "../dom.js";
import * as format from "../format.js";
import { shortened } from "../lines.js";

const KINDS = { DIFF_LINE_KIND_REMOVED: "removed", DIFF_LINE_KIND_ADDED: "added" };
const SIGNS = { removed: "−", added: "+", same: "" };
const SPOKEN = { removed: "removed: ", added: "added: ", same: "" };

/**
 * Draws a TextDiff.
 * @param {{hunks?: Array<object>, coarse?: boolean, linesLeftOut?: string}} diff
 * @param {"inline"|"beside"} mode
 * @returns {HTMLElement}
 */
export function drawText({ hunks = [], coarse, linesLeftOut = 0 }, mode) {
  return h("div", { class: `diff ${mode}` }, hunks.map((hunk) => drawHunk(hunk, mode)),
    coarse && h("p", { class: "diff-note muted small" }, "Too long to be compared in full: some of it is shown as replaced."),
    Number(linesLeftOut) > 0 && h("p", { class: "diff-note muted small" }, `${format.counted(linesLeftOut, "more line")} differ and are not shown.`));
}

function drawHunk({ beforeLine = 1, afterLine = 1, lines = [] }, mode) {
  let [before, after] = [beforeLine, afterLine];
  const numbered = lines.map(({ kind, pieces = [] }) => {
    const what = KINDS[kind] ?? "same";
    return { what, pieces, before: what === "added" ? "" : before++, after: what === "removed" ? "" : after++ };
  });
  return h("div", { class: "hunk" }, mode === "beside" ? paired(numbered).map(drawPair) : numbered.map(drawLine));
}

function drawLine({ what, pieces, before, after }) {
  return h("div", { class: `diff-line ${what}`, dataset: { diffLine: what } }, gutter(before), gutter(after), cell(what, pieces));
}

function drawPair([old, now]) {
  return h("div", { class: "diff-pair" }, half(old, old?.before), half(now, now?.after));
}

function half(line, count) {
  if (!line) return h("div", { class: "diff-line none" });
  return h("div", { class: `diff-line ${line.what}`, dataset: { diffLine: line.what } }, gutter(count), cell(line.what, line.pieces));
}

function gutter(count) {
  return h("span", { class: "diff-number", dataset: { number: count } });
}

function cell(what, pieces) {
  const tag = what === "removed" ? "del" : "ins";
  return h("span", { class: "diff-text text", dataset: { sign: SIGNS[what] } }, SPOKEN[what] && h("span", { class: "unseen" }, SPOKEN[what]),
    pieces.map(({ text = "", changed }) => (changed ? h(tag, {}, shortened(text)) : shortened(text))));
}

// Each removed line beside the added one that follows it, as far as there are as many.
function paired(lines) {
  const pairs = [];
  let [gone, come] = [[], []];
  const flush = () => {
    for (let index = 0; index < Math.max(gone.length, come.length); index += 1) pairs.push([gone[index], come[index]]);
    [gone, come] = [[], []];
  };
  for (const line of lines) {
    if (line.what === "removed") gone.push(line);
    else if (line.what === "added") come.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}
