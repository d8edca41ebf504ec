// How the prompt is shown: the switches above it.

import { h, replace } from "../dom.js";
import { counted } from "../format.js";
import { leftOutCount } from "./messages.js";

const ENCODINGS = ["o200k_base", "cl100k_base"];

/**
 * @param {HTMLElement} root
 * @param {{unit: "tokens"|"chars", outline: boolean, hidden: boolean, leftOut: boolean, turn: boolean}} look
 * @param {(changes: object) => void} set
 * @param {object} context as views have it
 */
export function drawToolbar(root, look, set, { state, update, navigate }, change) {
  const toggle = (name, text, title) => h("button", { "aria-pressed": String(look[name]), title, dataset: { tool: name }, onclick: () => set({ [name]: !look[name] }) }, text);
  const { prompt } = state;
  const findings = prompt?.findings ?? [];
  const held = root.querySelector(":focus")?.dataset.tool;
  replace(root,
    h("div", { class: "choices", role: "group", "aria-label": "Sizes in" },
      ["tokens", "chars"].map((unit) => h("button", { "aria-pressed": String(look.unit === unit), dataset: { tool: unit }, onclick: () => set({ unit }) }, unit === "tokens" ? "Tokens" : "Characters"))),
    h("label", { class: "choice" }, h("select", { "aria-label": "Token encoding", title: "How tokens are counted", dataset: { tool: "encoding" }, onchange: (event) => update({ tokenEncoding: event.target.value }) },
      ENCODINGS.map((name) => h("option", { value: name, selected: name === state.tokenEncoding }, name)))),
    toggle("outline", "Sections", "Show the list of sections"),
    toggle("hidden", "Hidden characters", "Show invisible and bidirectional characters as such"),
    toggle("leftOut", prompt ? `Left out (${leftOutCount(prompt)})` : "Left out", "Show in their places the sections that are not in the prompt, with the reason"),
    h("span", { class: "toolbar-gap" }),
    change && h("button", { class: "quiet", dataset: { tool: "change" }, title: "What the newest save changed, and what it costs in providers' caches", onclick: () => navigate("compare", { before: change.before, after: "" }) },
      h("span", { class: "tag" }, `${counted(change.sections.size, "section")} changed: compare`)),
    findings.length > 0 && h("button", { class: "quiet", dataset: { tool: "findings" }, onclick: () => navigate("findings") }, h("span", { class: "tag warn" }, counted(findings.length, "finding"))),
    toggle("turn", "Turn", "Show the turn's form"));
  if (held) root.querySelector(`[data-tool="${held}"]`)?.focus();
}
