// What a comparison found: sizes, what providers' caches lose, findings that come and go, and each section that differs.

import { h } from "../dom.js";
import { findingLines } from "../finding.js";
import * as format from "../format.js";
import { formatTitle } from "../formats.js";
import { scrolled } from "../split.js";
import { drawText } from "./hunks.js";

const CHANGES = {
  SECTION_CHANGE_ADDED: ["good", "added"], SECTION_CHANGE_REMOVED: ["bad", "removed"],
  SECTION_CHANGE_CHANGED: ["warn", "changed"], SECTION_CHANGE_REPORTED: ["", "same text"],
};

/**
 * @param {object} diff a DiffPromptResponse, or what `comparePrompts` makes
 * @param {"inline"|"beside"} mode
 * @param {object} context of the view
 * @returns {Array<HTMLElement|false>}
 */
export function drawResult(diff, mode, context) {
  const { sections = [], layout, caches, appeared = [], vanished = [] } = diff;
  // Two revisions can give the same prompt and other findings.
  const same = diff.same || Boolean(diff.before?.digest) && diff.before.digest === diff.after?.digest;
  return [
    h("div", { class: "compare-facts" }, sizes(diff), caches ? cacheTable(caches, same) : begins(diff)),
    appeared.length > 0 && titled("Findings that appeared", findingLines(appeared, context)),
    vanished.length > 0 && titled("Findings that are gone", findingLines(vanished, context)),
    same && h("p", { class: "empty", dataset: { diff: "same" } }, "Both prompts are the same, byte for byte."),
    layout?.hunks?.length > 0 && titled("Order of messages and sections", drawText(layout, mode)),
    sections.map((section) => drawSection(section, mode)),
    diff.coarse && h("p", { class: "muted small" }, "Something was too long to be compared in full."),
  ];
}

function titled(title, ...content) {
  return h("section", { class: "card diff-block" }, h("h2", {}, title), content);
}

function sizes({ before, after }) {
  const rows = [["Characters", "chars"], ["Tokens", "tokens"], ["Bytes", "bytes"]].filter(([, key]) => before.size?.[key] !== undefined || after.size?.[key] !== undefined);
  return h("section", { class: "card fact" }, h("h2", {}, "Size"), h("table", { dataset: { sizes: "" } },
    h("thead", {}, h("tr", {}, ["", "Before", "After", "Change"].map((name, index) => h("th", { scope: "col", class: index && "number" }, name || h("span", { class: "unseen" }, "Unit"))))),
    h("tbody", {}, rows.map(([title, key]) => {
      const [one, other] = [before, after].map(({ size }) => Number(size?.[key] ?? 0));
      return h("tr", {}, h("th", { scope: "row" }, title), h("td", { class: "number" }, format.number(one)), h("td", { class: "number" }, format.number(other)),
        h("td", { class: "number" }, change(one, other)));
    }))));
}

function change(before, after) {
  const by = after - before;
  return by === 0 ? h("span", { class: "muted" }, "none") : h("strong", { class: by > 0 ? "grew" : "shrank" }, `${by > 0 ? "+" : "−"}${format.number(Math.abs(by))}`);
}

function begins({ commonBytes, before }) {
  const total = Number(before.size?.bytes ?? 0);
  return h("section", { class: "card fact" }, h("h2", {}, "Where they part"),
    h("p", {}, `Both begin with the same ${format.number(commonBytes)} bytes of ${format.number(total)}.`),
    h("p", { class: "muted small" }, "What each provider's cache keeps is told for the same profile and turn on both sides."));
}

function cacheTable(caches, same) {
  return h("section", { class: "card fact" }, h("h2", {}, "Kept by providers' caches"), scrolled("Kept by providers' caches", h("table", { dataset: { caches: "" } },
    h("thead", {}, h("tr", {}, ["Provider", "Lost from byte", "Kept", "Differs in or behind"].map((name, index) => h("th", { scope: "col", class: (index === 1 || index === 2) && "number" }, name)))),
    h("tbody", {}, caches.map(({ format: id, keptBytes = 0, beforeBytes = 0, section = "" }) => {
      const lost = !same && Number(keptBytes) < Number(beforeBytes);
      return h("tr", { dataset: { cache: id } }, h("th", { scope: "row" }, formatTitle(id)),
        h("td", { class: "number" }, lost ? format.number(keptBytes) : h("span", { class: "muted" }, "nothing lost")),
        h("td", { class: "number" }, lost ? format.share(Number(keptBytes), Number(beforeBytes)) : "100 %"),
        h("td", {}, section && h("code", { class: "wrap" }, section)));
    })))));
}

function drawSection({ id, change, path, before, after, text }, mode) {
  const [kind, name] = CHANGES[change] ?? ["", format.enumName(change)];
  return h("section", { class: "card diff-block", dataset: { diff: id, change: name } },
    h("div", { class: "row diff-head" }, h("h2", {}, h("code", { class: "wrap" }, id)), h("span", { class: `tag ${kind}` }, name),
      path && path !== id && !id.endsWith(`/${path}`) && h("bdi", { class: "mono small muted" }, path), h("span", { class: "small muted" }, states(before, after))),
    text && drawText(text, mode));
}

// How its outcome, reason and size went over.
function states(before, after) {
  const told = (state) => (state ? [format.enumName(state.outcome), state.reason].filter(Boolean).join(": ") : "not there");
  const [one, other] = [told(before), told(after)];
  const by = Number(after?.size?.chars ?? 0) - Number(before?.size?.chars ?? 0);
  return [one === other ? other : `${one} → ${other}`, by !== 0 && `${by > 0 ? "+" : "−"}${format.counted(Math.abs(by), "character")}`].filter(Boolean).join(" · ");
}
