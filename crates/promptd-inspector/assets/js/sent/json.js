// JSON laid out for people, token by token: no number and no text is changed by it.

import { h } from "../dom.js";
import { Lines } from "./lines.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[a-z]+|[{}[\],:]/g;
const MARKS = new Set(['"cache_control"', '"cachePoint"']); // where a provider is told to keep what is before
const INDENT = "  ";

/**
 * Draws JSON; cache marks are on a line each.
 * @param {string} json valid JSON
 * @param {boolean} breaks whether the line feeds of texts also break the line on the page
 * @returns {{element: HTMLElement, marks: HTMLElement[]}}
 */
export function drawJson(json, breaks) {
  const tokens = json.match(TOKEN) ?? [];
  const lines = new Lines();
  const marks = [];
  let depth = 0;
  for (let index = 0; index < tokens.length; index += 1) {
    const text = tokens[index];
    if (text === "}" || text === "]") depth -= 1;
    if (index > 0 && needsLine(tokens[index - 1], text)) {
      lines.next();
      lines.append(INDENT.repeat(depth));
    }
    const key = tokens[index + 1] === ":" && text.startsWith('"');
    if (key && MARKS.has(text)) {
      const end = endOf(tokens, index + 2);
      marks.push(h("mark", { class: "cache-mark", tabindex: -1, dataset: { cacheMark: marks.length + 1 } }, spaced(tokens.slice(index, end))));
      lines.append(marks.at(-1));
      index = end - 1;
    } else if (key) lines.append(h("span", { class: "json-key" }, text));
    else if (text.startsWith('"')) drawText(text, breaks, lines);
    else if ("{}[],:".includes(text)) lines.append(text === ":" ? ": " : text);
    else lines.append(h("span", { class: "json-value" }, text));
    if (text === "{" || text === "[") depth += 1;
  }
  return { element: lines.element, marks };
}

function needsLine(previous, text) {
  if (previous === "{" || previous === "[") return text !== "}" && text !== "]";
  return previous === "," || text === "}" || text === "]";
}

// The index behind the value that begins at an index.
function endOf(tokens, start) {
  let depth = 0;
  for (let index = start; index < tokens.length; index += 1) {
    if (tokens[index] === "{" || tokens[index] === "[") depth += 1;
    if (tokens[index] === "}" || tokens[index] === "]") depth -= 1;
    if (depth === 0) return index + 1;
  }
  return tokens.length;
}

function spaced(tokens) {
  return tokens.map((text) => (text === ":" || text === "," ? `${text} ` : text)).join("");
}

// With `breaks`, a real line feed behind each escaped one; an escaped backslash before an n is none.
function drawText(text, breaks, lines) {
  if (!breaks) return lines.append(text);
  for (const [index, part] of text.split(/((?<!\\)(?:\\\\)*\\n)/).entries()) {
    if (index % 2 === 0) lines.append(part);
    else {
      lines.append(part.slice(0, -2), h("span", { class: "json-break" }, "\\n"));
      lines.next();
    }
  }
}
