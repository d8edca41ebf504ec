// Compares two answers of AssemblePrompt, in the form of the contract's DiffPromptResponse as far as that holds no rule of the
// service: sections by their ids, their texts, sizes and findings. What a provider's cache keeps only the service can say.

import { textDiff } from "./text.js";

/**
 * @param {object} before an AssemblePromptResponse
 * @param {object} after another
 * @returns {object} as a DiffPromptResponse without `caches`; `commonBytes` are those that both prompts begin with
 */
export function comparePrompts(before, after) {
  const [old, now] = [before, after].map(sectionsOf);
  const sections = [];
  for (const id of inOrder([...old.keys()], [...now.keys()])) {
    const [one, other] = [old.get(id), now.get(id)];
    const text = textDiff(one?.text ?? "", other?.text ?? "");
    const change = changeOf(one, other, text);
    if (change) sections.push({ id, change, path: (other ?? one).path, before: one?.state, after: other?.state, text });
  }
  return {
    same: before.digest === after.digest && sections.length === 0, before: sideOf(before), after: sideOf(after), sections,
    layout: textDiff(layoutOf(before), layoutOf(after)), commonBytes: commonBytes(before, after), coarse: sections.some(({ text }) => text?.coarse),
    appeared: without(after.findings, before.findings), vanished: without(before.findings, after.findings),
  };
}

function sideOf({ revision, digest, size, profile }) {
  return { revision, digest, size, profile };
}

// By id: the text, the file and the report of each section, and of each message of the conversation.
function sectionsOf({ messages = [], sections = [], cards = [] }) {
  const bytes = new Map();
  const slice = (text, start = 0, end = 0) => {
    if (!bytes.has(text)) bytes.set(text, new TextEncoder().encode(text));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.get(text).subarray(start, end));
  };
  const all = new Map();
  for (const { id, outcome, reason, includedSize, source, messageIndex, cardIndex, byteStart, byteEnd } of sections) {
    const holder = messageIndex !== undefined ? messages[messageIndex] : cards[cardIndex];
    all.set(id, { text: slice(holder?.content ?? "", byteStart, byteEnd), path: source?.path ?? "", state: { outcome, reason, size: includedSize } });
  }
  for (const { conversationIndex, content = "" } of messages) {
    if (conversationIndex !== undefined) all.set(`conversation/${conversationIndex}`, { text: content, path: "", state: { outcome: "OUTCOME_INCLUDED" } });
  }
  return all;
}

// A line for each message, and one for each section that is in it.
function layoutOf({ messages = [], sections = [] }) {
  return messages.map(({ role = "", name = "" }, index) => [
    `${role.replace("ROLE_", "").toLowerCase()} ${name}`.trim(),
    ...sections.filter(({ messageIndex }) => messageIndex === index).map(({ id }) => `  ${id}`),
  ].join("\n")).join("\n");
}

// The second list's order, with what only the first has where it was.
function inOrder(old, now) {
  const order = [...now];
  old.forEach((id, index) => {
    if (order.includes(id)) return;
    order.splice(index === 0 ? 0 : order.indexOf(old[index - 1]) + 1, 0, id);
  });
  return order;
}

function changeOf(one, other, text) {
  if (text && !one?.text) return "SECTION_CHANGE_ADDED";
  if (text && !other?.text) return "SECTION_CHANGE_REMOVED";
  if (text) return "SECTION_CHANGE_CHANGED";
  const same = one?.state.outcome === other?.state.outcome && one?.state.reason === other?.state.reason;
  return same || (!one?.text && (!one || !other)) ? undefined : "SECTION_CHANGE_REPORTED";
}

function commonBytes(...prompts) {
  const [one, other] = prompts.map(({ messages = [] }) => new TextEncoder().encode(messages.map(({ content = "" }) => content).join("")));
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

function without(some = [], others = []) {
  const known = new Set(others.map((each) => JSON.stringify(each)));
  return some.filter((each) => !known.has(JSON.stringify(each)));
}
