// The prompt: what the model is told, message by message, where each byte came from, and what was left out.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { account } from "../prompt/account.js";
import { assemble, follow } from "../prompt/assembly.js";
import { Messages, leftOutCount, placesOf } from "../prompt/messages.js";
import { drawOutline } from "../prompt/outline.js";
import { sourceMap } from "../prompt/source-map.js";
import { drawStatusBar, sentenceOf } from "../prompt/status-bar.js";
import { keep, kept } from "../state.js";
import { turnPanel } from "../turn/panel.js";

const LOOK_KEY = "promptd.look";
const ENCODINGS = ["o200k_base", "cl100k_base"];
const WIDE = "(min-width: 85rem)"; // there is room for the turn beside the messages
const MIDDLE = "(min-width: 56rem)"; // and for the outline

export const view = { id: "prompt", title: "Prompt", needsWorkspace: true, mount };

function mount(root, context) {
  const { state } = context;
  assemble(); // while the server works, the rest is drawn
  const look = { unit: "tokens", hidden: false, leftOut: true, outline: matchMedia(MIDDLE).matches, turn: matchMedia(WIDE).matches, ...kept(LOOK_KEY, {}) };
  const homes = { profile: "", of: new Map() };
  const failed = h("div", { class: "prompt-error" });
  const tools = h("div", { class: "toolbar", role: "toolbar", "aria-label": "How the prompt is shown" });
  const outline = h("nav", { class: "outline", "aria-label": "Sections" });
  const list = h("div", { class: "messages" });
  const status = h("div", { class: "status-bar" });
  const panel = turnPanel(context);
  const messages = new Messages(list, context);
  const aside = h("aside", { class: "turn", "aria-label": "Turn" }, panel.element);
  const columns = h("div", { class: "prompt-columns" }, outline, h("div", { class: "prompt-middle" }, failed, list), aside);
  replace(root, tools, columns, status);

  const map = sourceMap(list, {
    cardOf: (element) => messages.cardOf(element),
    show: (pointed) => drawStatusBar(status, pointed),
    announce: (pointed) => context.say(sentenceOf(pointed)),
    open: (pointed) => openOrigin(pointed, context, (field) => { set({ turn: true }); panel.focusField(field); }),
  });

  const set = (changes) => {
    Object.assign(look, changes);
    if (Object.keys(changes).length) keep(LOOK_KEY, { ...kept(LOOK_KEY, {}), ...changes });
    drawTools();
    aside.hidden = !look.turn;
    columns.classList.toggle("without-outline", !look.outline);
    for (const each of [list, outline]) each.classList.toggle("without-left-out", !look.leftOut);
    if ("hidden" in changes || "unit" in changes) draw(false);
  };
  const drawTools = () => drawToolbar(tools, look, set, context);

  let drawn = null;
  const draw = (mark) => {
    const { prompt, promptError } = state;
    replace(failed, promptError && [errorCard(promptError), prompt && h("p", { class: "muted small" }, "Below is the last prompt that could be assembled.")]);
    list.classList.toggle("stale", Boolean(promptError && prompt));
    panel.showError(promptError);
    if (!prompt) return;
    if (homes.profile !== prompt.profile) loadHomes(prompt.profile, homes, context).then(() => draw(false), context.report);
    const entries = account(prompt, homes.of);
    const places = placesOf(prompt);
    const same = drawn === sameAs(state); // of another profile or revision everything differs
    const changed = messages.draw(entries, { hidden: look.hidden, toggleHidden: () => set({ hidden: !look.hidden }), places, mark: mark && same });
    drawOutline(outline, entries, prompt, { unit: look.unit, places, jump: (id) => messages.jump(id) });
    if (mark && same && changed.length) context.say(`Changed: ${changed.join(", ")}`);
    drawn = sameAs(state);
    map.clear();
    drawTools();
  };

  set({});
  drawStatusBar(status, null);
  if (state.prompt) draw(false);
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace" && !state.revision) assemble();
      if (kind === "state") follow(keys);
      if (keys.includes("prompt")) draw(true);
      else if (keys.includes("promptError")) draw(false);
      panel.refresh(keys);
    },
    destroy: () => map.clear(),
  };
}

function sameAs({ workspaceId, revision, prompt }) {
  return JSON.stringify([workspaceId, revision, prompt.profile]);
}

// The profile says which message a section belongs to, which an answer does not where there is no text.
async function loadHomes(profile, homes, { rpc }) {
  homes.profile = profile;
  homes.of = new Map();
  const answer = await rpc.call("ProfileService/GetProfile", { name: profile });
  if (homes.profile === profile) homes.of = new Map((answer.profile?.sections ?? []).map((section) => [section.id, section.message ?? ""]));
}

function openOrigin({ origin, at, text }, context, focusField) {
  if (origin.place) context.openFile({ ...origin.place, ...at, text });
  else if (origin.field) focusField(origin.field);
  else context.say(`${origin.name}: ${origin.kind}; there is no file to open.`);
}

function drawToolbar(root, look, set, { state, update, navigate }) {
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
    findings.length > 0 && h("button", { class: "quiet", dataset: { tool: "findings" }, onclick: () => navigate("findings") }, h("span", { class: "tag warn" }, format.counted(findings.length, "finding"))),
    toggle("turn", "Turn", "Show the turn's form"));
  if (held) root.querySelector(`[data-tool="${held}"]`)?.focus();
}
