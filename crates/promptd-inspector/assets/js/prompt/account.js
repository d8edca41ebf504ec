// A prompt's account in the order in which people read it: messages, the sections in each, and in their places those that
// were left out. It joins what the answer says, and decides nothing.

import { Utf8Index } from "../utf8.js";

const GOLDEN_ANGLE = 137.508; // degrees: neighbours differ most
const FIRST_HUE = 250;

/**
 * @typedef {object} Part a section's text, or what is between two sections
 * @property {object|null} section its report; null: a separator
 * @property {number} start index in the content
 * @property {number} end
 * @property {boolean} joined it goes on in the line of the part before
 */
/**
 * @typedef {object} Entry
 * @property {"message"|"card"|"left-out"} kind
 * @property {number} [index] of the message or card
 * @property {object} [message] or card
 * @property {Utf8Index} [utf8] of its content
 * @property {Array<Part|{leftOut: object}|{cache: number}>} [parts] in order
 * @property {Array} [spans] in order
 * @property {object} [section] of what was left out between messages
 */

/** @param {object} prompt as in the state @param {Map<string, string>} homes sections' messages by the profile @returns {Entry[]} */
export function account(prompt, homes) {
  const messages = prompt.messages.map((message, index) => entry("message", message, index, prompt.sections.filter((each) => each.messageIndex === index)));
  const cards = prompt.cards.map((card, index) => entry("card", card, index, prompt.sections.filter((each) => each.cardIndex === index)));
  const between = placeLeftOut(prompt.sections, messages, homes);
  markCache(messages, prompt.cachePlan ?? {});
  const conversation = cutConversation(prompt.sections);
  const begins = messages.find((each) => each.message.conversationIndex !== undefined);
  return [...between.get(-1) ?? [], ...messages.flatMap((each) => [...(each === begins ? conversation : []), each, ...(between.get(each.index) ?? [])]), ...cards];
}

/** The hue of a section, by its place in the account. @param {number} place @returns {number} degrees */
export function hue(place) {
  return Math.round((FIRST_HUE + place * GOLDEN_ANGLE) % 360);
}

/** Whether a section has no text in the prompt. @param {object} section @returns {boolean} */
export function isLeftOut(section) {
  return section.outcome === "OUTCOME_OMITTED" || section.outcome === "OUTCOME_DROPPED";
}

function entry(kind, message, index, sections) {
  const utf8 = new Utf8Index(message.content);
  const parts = [];
  let at = 0;
  const placed = sections.filter((each) => (each.byteEnd ?? 0) > (each.byteStart ?? 0)).sort((a, b) => (a.byteStart ?? 0) - (b.byteStart ?? 0));
  for (const section of placed) {
    const [start, end] = [utf8.toIndex(section.byteStart ?? 0), utf8.toIndex(section.byteEnd)];
    if (start > at) parts.push({ section: null, start: at, end: start, joined: false });
    parts.push({ section, start, end, joined: start > 0 && !message.content.slice(Math.min(at, start - 1), start).includes("\n") });
    at = end;
  }
  if (at < message.content.length) parts.push({ section: null, start: at, end: message.content.length, joined: false });
  return { kind, index, message, utf8, parts, spans: placed.flatMap((each) => each.spans ?? []) };
}

// A section that was left out is shown after the one before it in the profile's order: in its message, or between two.
function placeLeftOut(sections, messages, homes) {
  const between = new Map();
  let last = null; // the section before that has text
  for (const section of sections) {
    if (section.messageIndex !== undefined) last = section;
    if (!isLeftOut(section) || section.cardIndex !== undefined) continue;
    const index = last?.messageIndex ?? -1;
    const home = homes.get(section.id) ?? homes.get(section.id.split("/")[0]);
    const inside = index >= 0 && (homes.size === 0 || home === messages[index].message.name);
    const [first] = messages;
    if (inside) insertAfter(messages[index].parts, last, { leftOut: section });
    else if (index < 0 && home !== undefined && home === first?.message.name) first.parts.splice(leadingNotes(first.parts), 0, { leftOut: section });
    else between.set(index, [...(between.get(index) ?? []), { kind: "left-out", section }]);
  }
  return between;
}

function insertAfter(parts, section, note) {
  let at = parts.findIndex((part) => part.section === section) + 1;
  while (parts[at]?.leftOut) at += 1;
  parts.splice(at, 0, note);
}

function leadingNotes(parts) {
  const at = parts.findIndex((part) => !part.leftOut);
  return at < 0 ? parts.length : at;
}

// A conversation that was cut has no place of its own in a message: what is missing is said before its first one.
function cutConversation(sections) {
  return sections.filter((section) => section.id === "conversation" && !isLeftOut(section) && section.reason).map((section) => ({ kind: "left-out", section }));
}

// The line behind which a provider's cache cannot hold: at a section's end, or behind whole messages.
function markCache(messages, { stableMessages = 0, stableBytes = "0" }) {
  const rest = Number(stableBytes) - messages.slice(0, stableMessages).reduce((sum, each) => sum + each.utf8.bytes, 0);
  const next = messages[stableMessages];
  if (next && rest > 0) {
    const index = next.utf8.toIndex(rest);
    const at = next.parts.findIndex((part) => part.end >= index);
    if (at >= 0) next.parts.splice(at + 1, 0, { cache: Number(stableBytes) });
  } else if (messages[stableMessages - 1]) {
    messages[stableMessages - 1].parts.push({ cache: Number(stableBytes) });
  }
}
