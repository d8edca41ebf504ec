// The sections by size: a bar of all, and a row for each with its limit, its stability and why it was left out or cut.

import { h, replace } from "../dom.js";
import { counted, enumName, number, share } from "../format.js";
import { hue, isLeftOut } from "./account.js";

/**
 * Draws the outline.
 * @param {HTMLElement} root
 * @param {import("./account.js").Entry[]} entries
 * @param {object} prompt
 * @param {object} look
 * @param {"tokens"|"chars"} look.unit
 * @param {Map<object, number>} look.places
 * @param {Map<string, number>} [look.changes] by how many characters the newest save changed a section
 * @param {(id: string) => void} look.jump
 */
export function drawOutline(root, entries, prompt, look) {
  const unit = prompt.size?.tokens === undefined ? "chars" : look.unit;
  const total = Number(prompt.size?.[unit] ?? 0);
  const size = (section) => Number(section.includedSize?.[unit] ?? 0);
  const inPrompt = prompt.sections.filter((section) => section.cardIndex === undefined && size(section) > 0);
  const rest = Math.max(0, total - inPrompt.reduce((sum, section) => sum + size(section), 0));
  const row = (section) => drawRow(section, size(section), total, unit, look);
  const held = root.querySelector(":focus")?.dataset.row;
  replace(root,
    h("p", { class: "total" }, h("strong", {}, number(total)), ` ${unit === "tokens" ? "tokens" : "characters"}`,
      h("span", { class: "muted" }, `${unit === "tokens" ? counted(prompt.size?.chars ?? 0, "character") : counted(prompt.size?.bytes ?? 0, "byte")}`)),
    h("div", { class: "bar", "aria-hidden": "true" },
      inPrompt.map((section) => h("div", {
        style: { "--hue": hue(look.places.get(section)), "flex-grow": size(section) }, title: `${section.id}: ${number(size(section))} ${unit}`, onclick: () => look.jump(section.id),
      })), rest > 0 && h("div", { class: "rest", style: { "flex-grow": rest }, title: `headings and separators: ${number(rest)} ${unit}` })),
    groups(entries, prompt).map(({ title, sections }) => h("section", { class: "outline-group" }, title && h("h2", {}, title), h("ul", {}, sections.map(row)))),
    rest > 0 && h("p", { class: "muted small rest-note" }, `Headings and separators: ${counted(rest, unit === "tokens" ? "token" : "character")}.`));
  if (held) root.querySelector(`[data-row="${CSS.escape(held)}"]`)?.focus();
}

function groups(entries, prompt) {
  const groups = [];
  const add = (title, sections) => sections.length && groups.push({ title, sections });
  for (const { kind, message, parts, section } of entries) {
    if (kind === "left-out" && isLeftOut(section)) {
      if (groups.at(-1)?.loose) groups.at(-1).sections.push(section);
      else groups.push({ title: "", loose: true, sections: [section] });
    } else if (kind !== "left-out") add(kind === "card" ? `card ${message.name}` : message.name, parts.map((part) => part.section ?? part.leftOut).filter(Boolean));
  }
  const conversation = prompt.sections.find((section) => section.id === "conversation" && !isLeftOut(section));
  if (conversation) groups.push({ title: "", sections: [conversation] });
  return groups;
}

function drawRow(section, size, total, unit, { places, changes, jump }) {
  const by = changes?.get(section.id);
  const out = isLeftOut(section);
  const outcome = enumName(section.outcome);
  const name = section.id.split("/").slice(1).join("/") || section.id;
  return h("li", {}, h("button", {
    class: ["outline-row", out && "out"], style: { "--hue": hue(places.get(section)) }, dataset: { row: section.id }, title: section.id, onclick: () => jump(section.id),
  },
    h("span", { class: "row-name" }, name),
    h("span", { class: "row-tags" },
      outcome === "truncated" && h("span", { class: "tag warn" }, "cut"),
      outcome === "dropped" && h("span", { class: "tag bad" }, "dropped"),
      by !== undefined && h("span", { class: "tag good", dataset: { changed: by } }, by === 0 ? "changed" : `${by > 0 ? "+" : "−"}${number(Math.abs(by))}`)),
    outcome === "omitted" && h("span", { class: "row-omitted" }, "omitted"),
    !out && h("span", { class: "row-size" }, number(size)),
    h("span", { class: "row-note" }, out ? section.reason : note(section, size, total)),
    !out && section.maxChars !== undefined && h("span", { class: "row-limit", "aria-hidden": "true", style: { "--filled": Math.min(1, Number(section.includedSize?.chars ?? 0) / Math.max(1, Number(section.maxChars))) } })));
}

function note(section, size, total) {
  const [included, original] = [Number(section.includedSize?.chars ?? 0), Number(section.originalSize?.chars ?? 0)];
  const most = section.maxChars;
  const limit = most === undefined ? "" : `limit ${number(most)}`;
  return [
    share(size, total), included === original ? counted(included, "char") : `${number(included)} of ${counted(original, "char")}`, limit, enumName(section.stability), section.outcome === "OUTCOME_TRUNCATED" && section.reason,
  ].filter(Boolean).join(" · ");
}
