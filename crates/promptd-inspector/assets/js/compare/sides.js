// The two sides of a comparison: each is a revision, a profile and a turn. They are kept in the page's address.

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { parse } from "../router.js";
import { presets } from "../turn/presets.js";

const CURRENT = ""; // the turn that the page has now

/**
 * @typedef {object} Side
 * @property {string} revision empty: the newest
 * @property {string} profile empty: the workspace's own
 * @property {string} turn a preset's name; empty: the page's own turn
 */

/**
 * Reads the sides from the address. What it leaves open is the revision before the newest one, against the newest one.
 * @param {Array<{revision: string}>} held newest first
 * @param {import("../state.js").State} state
 * @returns {{before: Side, after: Side}}
 */
export function readSides(held, state) {
  const { before, after, beforeProfile, afterProfile, beforeTurn, afterTurn } = parse(location.hash).parameters;
  const { profile } = state;
  return {
    before: { revision: given(before) ?? (state.revision || held[1]?.revision || ""), profile: given(beforeProfile) ?? profile, turn: beforeTurn ?? CURRENT },
    after: { revision: given(after) ?? "", profile: given(afterProfile) ?? profile, turn: afterTurn ?? CURRENT },
  };
}

/** The sides as parameters of the address. @param {{before: Side, after: Side}} sides @returns {Object<string, string>} */
export function writeSides({ before, after }) {
  return {
    before: before.revision || "newest", after: after.revision || "newest",
    beforeProfile: before.profile || "own", afterProfile: after.profile || "own", beforeTurn: before.turn, afterTurn: after.turn,
  };
}

function given(value) {
  return value === "newest" || value === "own" ? "" : value;
}

/** The turn of a side. @param {Side} side @param {import("../state.js").State} state @returns {object} */
export function turnOf({ turn: name }, { turn, workspace }) {
  return name === CURRENT ? turn : (presets(workspace).find((preset) => preset.name === name)?.turn ?? {});
}

/**
 * The choices of one side.
 * @param {"before"|"after"} which
 * @param {Side} side
 * @param {{held: Array<object>, profiles: string[], workspace: object|null}} known
 * @param {(side: Side) => void} choose
 * @returns {HTMLElement}
 */
export function sideChoices(which, side, { held, profiles, workspace }, choose) {
  const revisions = held.map(({ revision, loadedAt }, index) => [revision, `${format.short(revision)} · ${index === 0 ? "newest by now" : format.age(loadedAt)}`]);
  const own = workspace?.profile;
  return h("fieldset", { class: `side ${which}`, dataset: { side: which } }, h("legend", {}, which === "before" ? "Before" : "After"),
    choice("Revision", [["", "the newest"], ...revisions], side.revision, (revision) => choose({ ...side, revision }), format.short),
    choice("Profile", [["", own ? `${own} (its own)` : "its own"], ...profiles.map((name) => [name, name])], side.profile, (profile) => choose({ ...side, profile })),
    choice("Turn", [[CURRENT, "the page's turn"], ...presets(workspace).map(({ name }) => [name, name])], side.turn, (turn) => choose({ ...side, turn })));
}

function choice(label, options, value, choose, show = (text) => text) {
  const all = options.some(([each]) => each === value) ? options : [...options, [value, show(value)]];
  const select = h("select", { onchange: () => choose(select.value), dataset: { choice: label.toLowerCase() } });
  replace(select, all.map(([each, text]) => h("option", { value: each }, text)));
  select.value = value;
  return h("label", { class: "side-choice" }, h("span", { class: "small muted" }, label), select);
}
