// The messages on the page. What did not change stays where it is, so that the page does not jump; what changed is marked
// for a moment.

import { arrange, bringIntoView, h, icon, replace } from "../dom.js";
import { bytes, counted, enumName, number } from "../format.js";
import { hue, isLeftOut } from "./account.js";
import { changeOf } from "./changes.js";
import { countHidden } from "./hidden.js";
import { drawCacheLine, drawLeftOut, drawPart, rangeOf } from "./text.js";

const MARKED_MS = 2_500;
const MOST_HIDDEN = 1_000;
const COPY = "M5 5V3h8v8h-2M3 5h8v8H3z";

/** @typedef {{entry: object, parts: import("./text.js").TextPart[], element: HTMLElement, content: HTMLElement, head: HTMLElement, look: string}} Card */

/** The messages, cards and what was left out between them. */
export class Messages {
  /** @param {HTMLElement} root @param {object} context as views have it */
  constructor(root, context) {
    this.root = root;
    this.context = context;
    /** @type {Map<string, Card>} */ this.cards = new Map();
    this.timer = 0;
  }

  /**
   * Draws an account; `mark` marks what differs from the one before.
   * @param {import("./account.js").Entry[]} entries
   * @param {object} look
   * @param {boolean} look.hidden hidden characters are shown
   * @param {() => void} look.toggleHidden
   * @param {boolean} look.mark
   * @param {Map<object, number>} look.places sections' places, for their hues
   * @returns {string[]} the ids of the sections that changed
   */
  draw(entries, look) {
    const anchor = this.anchor();
    const changes = [];
    const before = this.cards;
    this.cards = new Map();
    const elements = entries.map((entry) => {
      if (entry.kind === "left-out") return drawLeftOut(entry.section, "");
      const key = `${entry.kind} ${entry.index}`;
      const card = before.get(key) ?? newCard();
      this.cards.set(key, card);
      changes.push(...this.drawCard(card, entry, look));
      return card.element;
    });
    if (!entries.some((entry) => entry.kind === "message")) elements.unshift(h("p", { class: "empty card" }, "This prompt has no messages: the model is told nothing."));
    arrange(this.root, elements);
    this.restore(anchor);
    if (look.mark) this.mark(changes);
    return changes.map((change) => change.id);
  }

  /** The message that an element shows. @param {Element} element @returns {Card|null} */
  cardOf(element) {
    return [...this.cards.values()].find((card) => card.content === element) ?? null;
  }

  /** Brings a section into view. @param {string} id */
  jump(id) {
    const element = this.root.querySelector(`[data-section="${CSS.escape(id)}"]`);
    if (!element) return;
    bringIntoView(element, "start");
    element.classList.remove("jumped");
    requestAnimationFrame(() => element.classList.add("jumped"));
  }

  drawCard(card, entry, look) {
    const held = new Map(card.parts.map((part) => [part.key, part]));
    const changes = [];
    card.entry = entry;
    card.parts = [];
    let separators = 0;
    const children = entry.parts.map((part) => {
      if (part.leftOut) return drawLeftOut(part.leftOut, entry.message.name);
      if (part.cache !== undefined) return drawCacheLine(part.cache);
      const key = part.section?.id ?? `separator ${separators++}`;
      const { drawn, change } = keep(held.get(key), entry, part, look);
      drawn.key = key;
      card.parts.push(drawn);
      if (change && part.section && entry.kind === "message") changes.push({ id: part.section.id, card, part: drawn, ...change });
      return drawn.element;
    });
    arrange(card.content, children);
    drawHead(card, this.context, look);
    return changes;
  }

  // The first part that is in view, to be held in its place.
  anchor() {
    for (const [key, card] of this.cards) {
      if (card.element.getBoundingClientRect().bottom < 0) continue;
      const part = card.parts.find((each) => each.element.getBoundingClientRect().bottom > 0);
      if (part) return { key, part: part.key, top: part.element.getBoundingClientRect().top };
    }
    return null;
  }

  restore(anchor) {
    const part = anchor && this.cards.get(anchor.key)?.parts.find((each) => each.key === anchor.part);
    const moved = part ? part.element.getBoundingClientRect().top - anchor.top : 0;
    if (moved && scrollY > 0) scrollBy({ top: moved, behavior: "instant" });
  }

  mark(changes) {
    clearTimeout(this.timer);
    this.unmark();
    const ranges = [];
    for (const { part, start, end, added } of changes) {
      part.element.classList.add("changed");
      const range = !added && start < end && rangeOf([part], part.start + start, part.start + end);
      if (range) ranges.push(range);
    }
    if (ranges.length && globalThis.CSS?.highlights) CSS.highlights.set("changed", new Highlight(...ranges));
    this.timer = setTimeout(() => this.unmark(), MARKED_MS);
  }

  unmark() {
    globalThis.CSS?.highlights?.delete("changed");
    for (const element of this.root.querySelectorAll(".changed")) element.classList.remove("changed");
  }
}

function newCard() {
  const head = h("header", { class: "message-head" });
  const content = h("div", { class: "message-content", tabindex: "0", role: "group", oncopy: copyAsIs });
  const calls = h("div", { class: "tool-calls" });
  const element = h("section", { class: "message card" }, head, content, calls);
  return { element, head, content, calls, parts: [], entry: null };
}

// The part as it is on the page already, where nothing of it changed.
function keep(held, entry, part, look) {
  const place = look.places.get(part.section) ?? 0;
  const key = `${part.section?.outcome} ${part.joined} ${look.hidden} ${place} ${entry.message.conversationIndex}`;
  const text = entry.message.content.slice(part.start, part.end);
  const drawn = held?.look === key && held.text === text ? Object.assign(held, { start: part.start, entry }) : drawPart(entry, part, { hidden: look.hidden, hue: hue(place) });
  drawn.look = key;
  const change = !held || held.text !== text ? changeOf(held?.text ?? "", text, entry, part) : null;
  return { drawn, change: change && { ...change, added: !held } };
}

function drawHead(card, context, look) {
  const { kind, message, utf8, index } = card.entry;
  const key = `${kind} ${index} ${message.digest} ${message.conversationIndex} ${look.hidden}`;
  if (card.drawn === key) return;
  card.drawn = key;
  const isConversation = message.conversationIndex !== undefined;
  const role = kind === "card" ? "card" : enumName(message.role);
  const name = message.name || message.speaker || (isConversation ? `message ${message.conversationIndex} of the conversation` : "");
  const hidden = countHidden(message.content, MOST_HIDDEN);
  card.element.classList.toggle("conversation", isConversation);
  card.element.dataset.role = role;
  if (kind === "message") card.content.setAttribute("data-message-content", index);
  else card.content.setAttribute("data-card-content", index);
  card.content.setAttribute("aria-label", `Text of ${role} message ${name}. Arrow keys move by origin, Enter opens it.`);
  replace(card.head,
    h("span", { class: "role" }, role), h("h2", {}, name),
    message.ephemeral && h("span", { class: "tag", title: "Must not be written to the conversation's history" }, "ephemeral"),
    kind === "card" && h("span", { class: "tag", title: "For the user interface; the model is not told it" }, "not for the model"),
    message.toolCallId && h("span", { class: "tag" }, `answers ${message.toolCallId}`),
    hidden > 0 && h("button", { class: "tag warn", "aria-pressed": String(look.hidden), title: "Show them", onclick: look.toggleHidden }, hidden === MOST_HIDDEN ? "many hidden characters" : counted(hidden, "hidden character")),
    h("span", { class: "message-size muted" }, `${counted(utf8.chars, "character")} · ${bytes(utf8.bytes)}`),
    h("button", { class: "quiet", "aria-label": `Copy ${name || role}`, title: "Copy this message", onclick: () => copy(message.content, context) }, icon(COPY)));
  replace(card.calls, (message.toolCalls ?? []).map((call) => h("div", { class: "text" }, h("strong", {}, call.name ?? ""), ` ${call.argumentsJson ?? ""}`)));
}

async function copy(text, context) {
  try {
    await navigator.clipboard.writeText(text);
    context.say("Copied.");
  } catch {
    context.report(Object.assign(new Error("The browser does not let this page copy. Select the text and copy it."), { code: "CLIPBOARD" }));
  }
}

// Blocks would add line ends of their own to what is copied.
function copyAsIs(event) {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  event.clipboardData.setData("text/plain", selection.getRangeAt(0).cloneContents().textContent);
  event.preventDefault();
}

/** Places of all sections in a prompt's account, for their hues. @param {object} prompt @returns {Map<object, number>} */
export function placesOf(prompt) {
  return new Map(prompt.sections.map((section, index) => [section, index]));
}

/** How many sections were left out. @param {object} prompt @returns {string} */
export function leftOutCount(prompt) {
  return number(prompt.sections.filter(isLeftOut).length);
}
