// Turns to begin with: those that people ask for most, and one's own, which the browser keeps.

import { keep, kept } from "../state.js";

const KEY = "promptd.presets";

/** @typedef {{name: string, turn: object, own: boolean}} Preset */

/** @param {object|null} workspace as in the state @returns {Preset[]} */
export function presets(workspace) {
  const [first] = workspace?.contextFiles ?? [];
  const narrow = { agent: { id: "sub-agent", name: "Sub-agent" }, skill_filter: { allowlist: {} }, context_files: [first?.path ?? "AGENTS.md"], ephemeral_system_prompt: "You are a sub-agent. Do the one task that you are given, and report." };
  return [
    { name: "Empty turn", turn: {}, own: false },
    { name: "Heartbeat", turn: { heartbeat: true }, own: false },
    { name: "Sub-agent, narrow", turn: narrow, own: false },
    { name: "Synthesis", turn: { stage: "STAGE_SYNTHESIS" }, own: false },
    { name: "A user on a channel", turn: { user: { id: "u-1", name: "Dana" }, channel: { name: "telegram", chat_type: "direct" } }, own: false },
    ...own().map((preset) => ({ ...preset, own: true })),
  ];
}

// What the browser keeps can have been written by anything.
function own() {
  return kept(KEY, []).filter((preset) => typeof preset?.name === "string" && typeof preset.turn === "object" && preset.turn !== null);
}

/** Keeps a turn under a name; one of the same name is replaced. @param {string} name @param {object} turn */
export function savePreset(name, turn) {
  keep(KEY, [...own().filter((preset) => preset.name !== name), { name, turn }]);
}

/** Forgets one of one's own. @param {string} name */
export function deletePreset(name) {
  keep(KEY, own().filter((preset) => preset.name !== name));
}
