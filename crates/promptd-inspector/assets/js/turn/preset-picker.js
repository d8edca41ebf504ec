// The choice of a turn to begin with, and the keeping of one's own.

import { h } from "../dom.js";
import { deletePreset, presets, savePreset } from "./presets.js";

/**
 * @param {import("../state.js").State} state
 * @param {(turn: object) => void} choose
 * @param {{redraw: () => void, say: (text: string) => void}} after a preset was kept or forgotten
 * @returns {HTMLElement[]}
 */
export function drawPresets(state, choose, { redraw, say }) {
  const all = presets(state.workspace);
  const current = all.findLast((preset) => JSON.stringify(preset.turn) === JSON.stringify(state.turn));
  const pick = h("select", { "aria-label": "Preset", onchange: () => choose(all[Number(pick.value)].turn) },
    !current && h("option", { value: "", selected: true }, "Preset…"),
    all.map((preset, index) => h("option", { value: index, selected: preset === current }, preset.own ? `${preset.name} (own)` : preset.name)));
  const name = h("input", { "aria-label": "Name of the preset", placeholder: "Name", size: 10, required: true });
  const save = () => {
    if (!name.value.trim()) return name.focus();
    savePreset(name.value.trim(), state.turn);
    say(`Kept as ${name.value.trim()}.`);
    redraw();
  };
  return [pick, h("details", { class: "preset-save" }, h("summary", { title: "Keep this turn in the browser" }, "Keep"),
    h("div", { class: "row" }, name, h("button", { type: "button", onclick: save }, "Keep"),
      current?.own && h("button", { type: "button", onclick: () => { deletePreset(current.name); redraw(); } }, "Forget")))];
}
