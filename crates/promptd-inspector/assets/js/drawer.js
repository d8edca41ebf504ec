// A file's text, beside the view: opened at a place, closed with Escape, and read again when it is saved.

import { bringIntoView, h, icon, replace } from "./dom.js";
import { errorCard } from "./errors.js";
import { forgetTexts, lineOf, readText } from "./files.js";
import { bytes, counted, short } from "./format.js";

const LINES_A_CHUNK = 200;
const FOUND = "The prompt was made from an earlier text; the same line is still here.";
const LOST = "The prompt was made from an earlier text, which had the line that is no longer here.";
const root = document.getElementById("drawer");

let place = null; // what is open
let opener = null; // what had the focus before
let turn = 0; // the newest opening wins

root.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  closeDrawer();
});

/** Opens a file at a place. @param {import("./files.js").Place} next */
export async function openFile(next) {
  if (!root.contains(document.activeElement)) opener = document.activeElement;
  place = next;
  await draw(true);
}

/** Closes it; what had the focus has it again. */
export function closeDrawer() {
  turn += 1;
  if (root.hidden) return;
  place = null;
  root.hidden = true;
  replace(root);
  if (opener?.isConnected) opener.focus({ preventScroll: true });
}

/** Something was saved: what is open is read again. */
export function refreshDrawer() {
  forgetTexts();
  if (place) draw(false);
}

async function draw(focus) {
  const mine = ++turn;
  const opened = place;
  const scroll = root.querySelector(".drawer-text")?.scrollTop ?? 0;
  let file;
  try {
    file = await readText(opened);
  } catch (error) {
    if (mine !== turn) return;
    replace(root, drawHead(opened.path ?? opened.skill ?? opened.profile, []), h("div", { class: "drawer-error" }, errorCard(error)));
    root.hidden = false;
    if (focus) root.querySelector("button").focus();
    return;
  }
  if (mine !== turn) return;
  const edited = opened.sha256 && file.sha256 && opened.sha256 !== file.sha256;
  const target = targetOf(file, opened, edited);
  const text = h("div", { class: "drawer-text", tabindex: "0", role: "group", "aria-label": `Text of ${file.path}` }, drawLines(file, target));
  replace(root, drawHead(file.path, [
    `${counted(file.starts.length, "line")} · ${bytes(file.bytes.length)}`, file.sha256 && `sha256 ${short(file.sha256)}`,
    target.line > 0 && `at line ${target.line}`,
  ], edited && (target.line > 0 ? FOUND : LOST)), text);
  root.hidden = false;
  if (focus) {
    text.focus({ preventScroll: true });
    const here = root.querySelector(".here");
    if (here) bringIntoView(here, "center");
  } else text.scrollTop = scroll;
}

// Which line, and which stretch of the text, the place means. In a file that was edited since, the same line is looked for.
function targetOf(file, { line = 0, column = 0, range, setting, section, text = "" }, edited) {
  if (edited && range) {
    const start = text.trim() ? file.text.indexOf(text) : -1;
    return start < 0 ? { line: 0, start: -1, end: -1 } : { line: file.placeOf(start).line, start, end: start + text.length };
  }
  if (range) {
    const [start, end] = range.map((byte) => file.indexOf(byte));
    return { line: line || file.placeOf(start).line, start, end };
  }
  const found = line || (setting || section ? lineOf(file, { setting, section }) : 0);
  const start = column > 0 && found ? file.starts[found - 1] + [...file.line(found)].slice(0, column - 1).join("").length : -1;
  return { line: found, start, end: start < 0 ? -1 : start + 1 };
}

function drawHead(name, notes, edited) {
  return h("div", { class: "drawer-head" },
    h("div", { class: "row spread" }, h("h2", {}, name),
      h("button", { class: "quiet", "aria-label": "Close the file", title: "Close (Escape)", onclick: closeDrawer }, icon("M4 4l8 8M12 4l-8 8"))),
    notes.length > 0 && h("p", { class: "muted small" }, notes.filter(Boolean).join(" · ")),
    edited && h("p", { class: "small" }, h("span", { class: "tag warn" }, "edited since"), ` This is the file as it is now. ${edited}`));
}

function drawLines(file, target) {
  const chunks = [];
  for (let first = 1; first <= file.starts.length; first += LINES_A_CHUNK) {
    const last = Math.min(first + LINES_A_CHUNK - 1, file.starts.length);
    const lines = [];
    for (let line = first; line <= last; line += 1) lines.push(drawLine(file, line, target));
    chunks.push(h("div", { class: "file-chunk", style: { "contain-intrinsic-block-size": `auto ${(last - first + 1) * 1.26}rem` } }, lines));
  }
  return chunks;
}

function drawLine(file, line, target) {
  const text = file.line(line);
  const start = file.starts[line - 1];
  const [from, to] = [Math.max(0, target.start - start), Math.min(text.length, target.end - start)];
  const marked = target.start >= 0 && from < to && to > 0;
  return h("div", { class: ["file-line", line === target.line && "here"], dataset: { line } },
    h("span", { class: "text" }, marked ? [text.slice(0, from), h("mark", {}, text.slice(from, to)), text.slice(to)] : text));
}
