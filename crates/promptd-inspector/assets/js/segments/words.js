// What is said of a segment, in words.

import { h } from "../dom.js";
import * as format from "../format.js";

const STATES = {
  SEGMENT_STATE_WAITING: ["waits for its summary", "warn"],
  SEGMENT_STATE_SET_ASIDE: ["set aside", "bad"],
};

/** `L0 · messages 0–41`: the first one and the last. @param {object} segment @returns {string} */
export function name({ level = 0, messageStart = 0, messageEnd = 0 }) {
  const [first, last] = [Number(messageStart), Number(messageEnd) - 1];
  return `L${level} · ${first === last ? `message ${format.number(first)}` : `messages ${format.number(first)}–${format.number(last)}`}`;
}

/** What the summary takes of what it sums up: `4,210 → 312 tokens (7 %)`. @param {object} stored @returns {string} */
export function compression({ segment, tokens = 0 }) {
  if (!segment.summary) return format.counted(tokens, "token");
  const { summaryTokens = 0 } = segment;
  return `${format.number(tokens)} → ${format.counted(summaryTokens, "token")} (${format.share(Number(summaryTokens), Number(tokens))})`;
}

/** Whether it has a summary, and whether the prompt shows it. @param {object} stored @param {boolean} carried @returns {Array<HTMLElement|false>} */
export function tags({ state }, carried) {
  const [words, kind] = STATES[state] ?? [];
  return [words && h("span", { class: `tag ${kind}` }, words), carried && h("span", { class: "tag good", title: "The prompt shows its summary" }, "in context")];
}
