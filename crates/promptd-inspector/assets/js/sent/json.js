// JSON laid out for people, token by token: no number and no text is changed by it.

import { h } from "../dom.js";

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[a-z]+|[{}[\],:]/gy;
const MARKS = new Set(['"cache_control"', '"cachePoint"']); // where a provider is told to keep what is before
const INDENT = "  ";

/**
 * Draws JSON with its cache marks.
 * @param {string} json valid JSON
 * @param {boolean} breaks whether the line feeds of texts also break the line on the page
 * @returns {{element: HTMLElement, marks: HTMLElement[]}}
 */
export function drawJson(json, breaks) {
  const marks = [];
  const root = h("code", {});
  let into = root;
  let markDepth = -1;
  const tokens = tokensOf(json);
  let depth = 0;
  tokens.forEach(({ text, kind }, index) => {
    const previous = tokens[index - 1]?.text;
    const next = tokens[index + 1]?.text;
    const closes = text === "}" || text === "]";
    if (closes) depth -= 1;
    if (previous !== undefined && needsLine(previous, text)) into.append(`\n${INDENT.repeat(depth)}`);
    if (kind === "key" && MARKS.has(text) && markDepth < 0) {
      into = h("mark", { class: "cache-mark", tabindex: -1, dataset: { cacheMark: marks.length + 1 } });
      root.append(into);
      marks.push(into);
      markDepth = depth;
    }
    into.append(kind === "plain" ? text : h("span", { class: `json-${kind}` }, kind === "text" && breaks ? broken(text) : text));
    if (text === ":") into.append(" ");
    if (text === "{" || text === "[") depth += 1;
    const ends = markDepth === depth && text !== ":" && kind !== "key" && !(next === ":") && (closes || (text !== "{" && text !== "["));
    if (markDepth >= 0 && ends) [into, markDepth] = [root, -1];
  });
  return { element: root, marks };
}

function tokensOf(json) {
  const found = (json.match(TOKEN) ?? []).filter((text) => text.trim() !== "");
  return found.map((text, index) => ({ text, kind: kindOf(text, found[index + 1]) }));
}

function kindOf(text, next) {
  if (text.startsWith('"')) return next === ":" ? "key" : "text";
  return "{}[],:".includes(text) ? "plain" : "value";
}

function needsLine(previous, text) {
  if (previous === "{" || previous === "[") return text !== "}" && text !== "]";
  return previous === "," || text === "}" || text === "]";
}

// A real line feed behind each escaped one; an escaped backslash before an n is none.
function broken(text) {
  return text.split(/((?<!\\)(?:\\\\)*\\n)/).map((part, index) => (index % 2 ? [part.slice(0, -2), h("span", { class: "json-break" }, "\\n"), "\n"] : part));
}
