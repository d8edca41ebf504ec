// A few lines of a file around a place, with a caret below it.

import { h, replace } from "./dom.js";
import { readText } from "./files.js";
import { hiddenIn } from "./prompt/hidden.js";

const AROUND = 1; // lines before and after
const LONGEST = 160; // characters of a line that are shown

/**
 * @param {{path?: string, line?: number, column?: number}} finding
 * @returns {HTMLElement} empty until the file is read, and where there is no place or the file cannot be read
 */
export function excerpt({ path, line = 0, column = 0 }) {
  const root = h("div", {});
  if (path && line > 0) readText({ path }).then((file) => line <= file.starts.length && replace(root, draw(file, line, column)), () => {});
  return root;
}

function draw(file, line, column) {
  const width = String(line + AROUND).length;
  const first = Math.max(1, line - AROUND);
  const last = Math.min(file.starts.length, line + AROUND);
  const rows = [];
  for (let each = first; each <= last; each += 1) {
    const characters = [...visible(file.line(each))];
    const from = each === line && column > LONGEST ? column - LONGEST / 2 : 0;
    const text = `${from ? "…" : ""}${characters.slice(from, from + LONGEST).join("")}${characters.length > from + LONGEST ? "…" : ""}`;
    rows.push(h("div", { class: each === line ? "here" : "muted" }, `${String(each).padStart(width)} │ ${text}`));
    if (each === line && column > 0) rows.push(h("div", { class: "here", "aria-hidden": "true" }, `${" ".repeat(width)} │ ${" ".repeat(column - 1 - from + (from ? 1 : 0))}^`));
  }
  return h("div", { class: "excerpt", role: "group", tabindex: "0", "aria-label": `Line ${line} of ${file.path}: ${file.line(line).slice(0, LONGEST)}` }, rows);
}

// Characters that cannot be seen as boxes, so that every character has its column.
function visible(line) {
  let shown = "";
  let at = 0;
  for (const { index, length } of hiddenIn(line)) {
    shown += `${line.slice(at, index)}▯`;
    at = index + length;
  }
  return (shown + line.slice(at)).replaceAll("\t", " ");
}
