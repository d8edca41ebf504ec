// Compare: any two of revision, profile and turn.

import { comparePrompts } from "../compare/prompts.js";
import { drawResult } from "../compare/result.js";
import { readSides, sideChoices, turnOf, writeSides } from "../compare/sides.js";
import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import { latest, paused } from "../latest.js";
import { kept, keep } from "../state.js";

const TYPING_MS = 150;
const MODE = "promptd.compare.mode";
const NARROW = matchMedia("(max-width: 56rem)");

export const view = { id: "compare", title: "Compare", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  const known = { held: [], profiles: [], workspace: null };
  let diff = null;
  let mode = kept(MODE, NARROW.matches ? "inline" : "beside");
  const choices = h("div", { class: "sides" });
  const result = h("section", { class: "stack", "aria-label": "What differs" });
  const modes = h("div", { class: "row", role: "group", "aria-label": "How to show what differs" });
  const comparing = latest((error) => replace(result, errorCard(error)));
  const reading = latest(context.report);

  const sides = () => readSides(known.held, state);
  const choose = (changes) => context.navigate("compare", writeSides({ ...sides(), ...changes }));
  const draw = () => {
    const { before, after } = sides();
    const held = root.contains(document.activeElement) && document.activeElement.closest("[data-choice]");
    const key = held && [held.closest("[data-side]").dataset.side, held.dataset.choice];
    replace(choices, sideChoices("before", before, known, (side) => choose({ before: side })),
      h("button", { type: "button", class: "swap", onclick: () => choose({ before: after, after: before }) }, "Swap"),
      sideChoices("after", after, known, (side) => choose({ after: side })));
    if (key) choices.querySelector(`[data-side="${key[0]}"] [data-choice="${key[1]}"]`)?.focus();
    replace(modes, [["beside", "Side by side"], ["inline", "Inline"]].map(([id, label]) => h("button", {
      type: "button", "aria-pressed": String(mode === id), dataset: { mode: id }, onclick: () => { keep(MODE, (mode = id)); draw(); show(); modes.querySelector(`[data-mode="${id}"]`).focus(); },
    }, label)));
  };
  const show = () => diff && replace(result, drawResult(diff, mode, context));
  const compare = () => comparing.run(async (signal) => {
    const { before, after } = sides();
    diff = await compared(rpc.call, state, before, after, signal);
    show();
    context.say(diff.same ? "Both prompts are the same." : `${diff.sections?.length ?? 0} sections differ.`);
  });
  const typed = paused(compare, TYPING_MS);
  const load = () => reading.run(async (signal) => {
    const [{ revisions = [] }, { profiles = [] }] = await Promise.all([
      rpc.call("WorkspaceService/ListRevisions", { workspaceId: state.workspaceId }, { signal }).catch(unlessOld),
      rpc.call("ProfileService/ListProfiles", { pageSize: 1_000 }, { signal }),
    ]);
    Object.assign(known, { held: revisions, profiles: profiles.map(({ name }) => name), workspace: state.workspace });
    draw();
    compare();
  });

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Compare"), modes), choices, result);
  load();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace") return load();
      if (kind === "route") { draw(); return compare(); }
      if (keys.includes("workspace") && !known.workspace) { known.workspace = state.workspace; draw(); }
      if (keys.includes("turn")) typed();
    },
    destroy: () => { typed.stop(); comparing.stop(); reading.stop(); },
  };
}

// DiffPrompt compares two revisions; of other profiles or turns there are two prompts to compare here.
async function compared(call, state, before, after, signal) {
  const { workspaceId, tokenEncoding } = state;
  const [one, other] = [before, after].map((side) => turnOf(side, state));
  if (before.profile === after.profile && before.turn === after.turn) {
    return call("PromptService/DiffPrompt", { workspaceId, tokenEncoding, profile: after.profile, turn: one, beforeRevision: before.revision, afterRevision: after.revision }, { signal });
  }
  const now = new Date().toISOString();
  const prompts = await Promise.all([[before, one], [after, other]].map(([{ profile, revision }, turn]) =>
    call("PromptService/AssemblePrompt", { workspaceId, tokenEncoding, profile, revision, turn: { now, ...turn } }, { signal })));
  return comparePrompts(...prompts);
}

function unlessOld(error) {
  if (error.code !== "unimplemented") throw error;
  return {};
}
