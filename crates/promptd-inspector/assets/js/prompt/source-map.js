// Point at any text, with the mouse or with the arrow keys, and see where it came from. No span has an element of its own:
// the place under the pointer is a byte of the message, and the spans are searched for it. Where the bytes are the file's
// own, the place in the file is exact to the character.

import { readText } from "../files.js";
import { originOf, SEPARATOR } from "./origins.js";
import { placeOf, rangeOf } from "./text.js";

const CONTENT = "[data-message-content], [data-card-content]";
const HIGHLIGHTS = ["source", "source-line"];
const CLICK_MS = 200; // a second click selects a word, and opens nothing
const REVEAL = 0.2; // of the window's height, above and below, that stays between the caret and its edges

/**
 * @typedef {object} Pointed
 * @property {import("./account.js").Entry} entry
 * @property {number} byte of the message
 * @property {object|null} span null: between two sections
 * @property {ReturnType<typeof originOf>} origin
 * @property {string} text of the line, as far as the span goes
 * @property {{line: number, column: number}|null} at where the byte, or else its span, is in the file, once that is known
 * @property {boolean} edited the file on disk is no longer what the prompt was made from
 */

/**
 * @param {HTMLElement} root what holds the messages' texts
 * @param {object} options
 * @param {(element: Element) => {entry: object, parts: object[]}|null} options.cardOf the message that an element shows
 * @param {(pointed: Pointed|null) => void} options.show
 * @param {(pointed: Pointed) => void} options.open
 * @param {(pointed: Pointed) => void} options.announce to screen readers
 * @returns {{clear: () => void}}
 */
export function sourceMap(root, { cardOf, show, open, announce }) {
  let pointed = null;
  let frame = 0;
  let opening = 0;

  const clear = () => {
    pointed = null;
    for (const name of HIGHLIGHTS) globalThis.CSS?.highlights?.delete(name);
    show(null);
  };
  const point = (card, byte) => {
    const span = spanAt(card.entry, byte);
    if (pointed && pointed.entry === card.entry && pointed.byte === byte) return pointed;
    pointed = { entry: card.entry, byte, span, origin: span ? originOf(span) : SEPARATOR, text: "", at: null, edited: false };
    pointed.text = highlight(card, pointed);
    show(pointed);
    locate(pointed).then((found) => found && pointed === found && show(found));
    return pointed;
  };
  const pointAt = ({ target, clientX, clientY }) => {
    const content = target.closest?.(CONTENT);
    const place = content && placeUnder(clientX, clientY);
    const card = place && cardOf(content);
    return card ? point(card, card.entry.utf8.toByte(place.index)) : null;
  };

  root.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => pointAt(event));
  });
  root.addEventListener("click", (event) => {
    clearTimeout(opening);
    if (!getSelection().isCollapsed || event.detail > 1) return;
    const found = pointAt(event);
    opening = setTimeout(() => found && getSelection().isCollapsed && open(found), CLICK_MS);
  });
  root.addEventListener("keydown", (event) => {
    const card = event.target.matches(CONTENT) ? cardOf(event.target) : null;
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && pointed) clear();
    else if (event.key === "Enter" && pointed?.entry === card.entry) open(pointed);
    else {
      const byte = step(card.entry, pointed?.entry === card.entry ? pointed : null, event.key);
      if (byte === null) return;
      const found = point(card, byte);
      reveal(card, byte);
      locate(found).then(() => found === pointed && announce(found));
    }
    event.preventDefault();
  });
  return { clear };
}

// Where a span begins in its file. The prompt can be older than the file: then nothing is known of lines.
async function locate(pointed) {
  const { place } = pointed.origin;
  if (!place?.range || pointed.at) return null;
  try {
    const file = await readText(place);
    pointed.edited = Boolean(place.sha256) && file.sha256 !== place.sha256;
    if (!pointed.edited) pointed.at = file.placeOf(file.indexOf(place.range[0] + ahead(pointed)));
    return pointed;
  } catch {
    return null; // opening the file says why it cannot be read
  }
}

function placeUnder(x, y) {
  if (document.caretPositionFromPoint) {
    const found = document.caretPositionFromPoint(x, y);
    return found && placeOf(found.offsetNode, found.offset);
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range && placeOf(range.startContainer, range.startOffset);
}

function spanAt({ spans, utf8 }, byte) {
  const at = Math.min(byte, utf8.bytes - 1);
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle].byteEnd ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span && (span.byteStart ?? 0) <= at ? span : null;
}

// How far into its span a byte is that is the file's own.
function ahead({ span, byte }) {
  return span.how === "HOW_VERBATIM" || span.how === "HOW_CUT" ? Math.max(0, byte - (span.byteStart ?? 0)) : 0;
}

// Left and right go by span, up and down by line. The answer is a byte; null: the key means nothing here.
function step({ spans, utf8 }, pointed, key) {
  const byte = pointed?.byte ?? 0;
  const text = utf8.text;
  const at = utf8.toIndex(byte);
  const start = (span) => span?.byteStart ?? 0;
  switch (key) {
    case "ArrowRight": return pointed ? start(spans.find((span) => start(span) > byte) ?? spans.at(-1)) : 0;
    case "ArrowLeft": return start(spans.findLast((span) => start(span) < byte) ?? spans[0]);
    case "ArrowDown": return pointed && text.indexOf("\n", at) >= 0 ? utf8.toByte(Math.min(text.indexOf("\n", at) + 1, text.length - 1)) : byte;
    case "ArrowUp": return at > 0 ? utf8.toByte(text.lastIndexOf("\n", Math.max(0, lineStart(text, at) - 2)) + 1) : 0;
    case "Home": return 0;
    case "End": return start(spans.at(-1));
    default: return null;
  }
}

function lineStart(text, index) {
  return index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

// Shows the whole span, and in it the line that is pointed at, whose text is the answer.
function highlight(card, { span, byte }) {
  for (const name of HIGHLIGHTS) globalThis.CSS?.highlights?.delete(name);
  if (!span) return "";
  const { utf8 } = card.entry;
  const [start, end] = [utf8.toIndex(span.byteStart ?? 0), utf8.toIndex(span.byteEnd ?? 0)];
  const at = utf8.toIndex(byte);
  const next = utf8.text.indexOf("\n", at);
  const from = Math.max(lineStart(utf8.text, at), start);
  const to = Math.min(next < 0 ? utf8.text.length : next, end);
  paint("source", rangeOf(card.parts, start, end));
  paint("source-line", from < to && rangeOf(card.parts, from, to));
  return utf8.text.slice(from, to);
}

function paint(name, range) {
  if (range && globalThis.CSS?.highlights) CSS.highlights.set(name, new Highlight(range));
}

function reveal(card, byte) {
  const at = card.entry.utf8.toIndex(byte);
  const range = rangeOf(card.parts, at, at + 1);
  if (!range) return;
  const block = range.startContainer.parentElement;
  const rect = () => range.getClientRects()[0] ?? block.getBoundingClientRect();
  if (range.getClientRects().length === 0) block.scrollIntoView({ block: "center", behavior: "instant" });
  const { top, bottom } = rect();
  if (top < innerHeight * REVEAL || bottom > innerHeight * (1 - REVEAL)) scrollBy(0, top - innerHeight / 2);
}
