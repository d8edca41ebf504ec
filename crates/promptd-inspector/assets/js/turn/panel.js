// The turn's panel: a form made from the contract and the profile's inputs, or the same as JSON. The prompt follows.

import { h, replace } from "../dom.js";
import { call } from "../rpc.js";
import { changed, drawFields, showError } from "./form.js";
import { problemOf } from "./json.js";
import { deletePreset, presets, savePreset } from "./presets.js";
import { inputFields, readTurnFields } from "./shapes.js";

/**
 * @param {object} context as views have it
 * @returns {{element: HTMLElement, refresh: (keys: string[]) => void, showError: (error: object|null) => void, focusField: (field: string) => void}}
 */
export function turnPanel({ state, update, say, report }) {
  let mode = "form";
  let fields = [];
  let inputs = { profile: null, fields: [] };
  let own = state.turn; // the turn as this panel has it; another one came from elsewhere
  let violations = [];
  const open = new Set();
  const body = h("div", { class: "turn-body" });
  const problem = h("p", { class: "field-error", role: "status" });
  const help = h("p", { class: "turn-help small", "aria-hidden": "true" });
  const head = h("div", { class: "turn-head" });
  const element = h("form", { class: "turn-panel", onsubmit: (event) => event.preventDefault(), onfocusin: helpFor, onpointerover: helpFor }, head, problem, body, help);

  const take = (turn) => {
    own = turn;
    update({ turn });
    if (!head.contains(document.activeElement)) drawHead();
  };
  const form = {
    get: (path) => path.reduce((value, part) => value?.[part], state.turn),
    set: (path, value) => take(changed(state.turn, path, value)),
    redraw: () => draw(),
    open,
  };
  const draw = () => {
    const held = body.querySelector(":focus")?.id;
    drawHead();
    replace(problem);
    replace(help);
    if (mode === "json") replace(body, drawJson(state.turn, take, problem));
    else replace(body, inputs.fields.length > 0 && h("fieldset", {}, h("legend", {}, `Inputs of ${inputs.profile}`), drawFields(form, inputs.fields, ["inputs"])),
      h("fieldset", {}, h("legend", { class: inputs.fields.length ? "" : "unseen" }, "Turn"), drawFields(form, fields, [])));
    if (held) document.getElementById(held)?.focus();
    mark();
  };
  const drawHead = () => replace(head, drawPresets(state, (turn) => { take(turn); draw(); }, { drawHead: () => drawHead(), say }),
    h("div", { class: "choices", role: "group", "aria-label": "Turn as" }, ["form", "json"].map((each) =>
      h("button", { type: "button", "aria-pressed": String(mode === each), onclick: () => { mode = each; draw(); } }, each === "form" ? "Form" : "JSON"))));
  const mark = () => {
    for (const field of body.querySelectorAll("[data-field]")) if (field.querySelector(":scope > .field-error")) showError(field, "");
    const rest = violations.filter(({ field, description }) => {
      const found = nearest(body, field);
      if (found) showError(found, description);
      return !found;
    });
    if (mode === "form" || violations.length) replace(problem, rest.map(({ field, description }) => (field ? `${field}: ${description}` : description)).join("; "));
  };
  function helpFor(event) {
    replace(help, event.target.closest("[data-help]")?.dataset.help ?? "");
  }
  const load = async () => {
    fields = await readTurnFields();
    await loadInputs();
    draw();
  };
  const loadInputs = async () => {
    const profile = state.profile || state.workspace?.profile || "";
    if (profile === inputs.profile) return;
    inputs = { profile, fields: [] };
    if (!profile) return;
    const answer = await call("ProfileService/GetProfile", { name: profile });
    if (inputs.profile === profile) inputs.fields = inputFields(answer.profile?.inputs ?? []);
  };
  load().catch(report);
  return {
    element,
    refresh: (keys) => {
      if (keys.includes("profile") || keys.includes("workspace")) {
        const before = inputs.fields;
        loadInputs().then(() => inputs.fields !== before && draw(), report);
      }
      if (keys.includes("turn") && state.turn !== own) {
        own = state.turn;
        draw();
      }
    },
    showError: (error) => {
      violations = error?.violations ?? [];
      mark();
    },
    focusField: (field) => {
      if (mode !== "form") {
        mode = "form";
        draw();
      }
      const found = nearest(body, field);
      for (let group = found?.closest("details"); group; group = group.parentElement.closest("details")) group.open = true;
      found?.querySelector("details")?.setAttribute("open", "");
      found?.querySelector("input, select, textarea, summary")?.focus();
    },
  };
}

// The field of a path, or of the nearest part of it that has one.
function nearest(root, field) {
  for (let path = field; path && path !== "turn"; path = path.replace(/(\.[^.[]*|\[\d+\])$/, "")) {
    const found = root.querySelector(`[data-field="${CSS.escape(path)}"]:has(> .field-error)`);
    if (found) return found;
    if (!/[.[]/.test(path)) break;
  }
  return null;
}

function drawJson(turn, take, problem) {
  const check = (event) => {
    const text = event.target.value.trim() || "{}";
    const wrong = problemOf(text) ?? (isObject(JSON.parse(text)) ? null : "A turn is a JSON object: { … }");
    replace(problem, wrong ?? "");
    event.target.toggleAttribute("aria-invalid", false);
    if (wrong) event.target.setAttribute("aria-invalid", "true");
    else take(JSON.parse(text));
  };
  return h("textarea", { class: "mono turn-json", "aria-label": "The turn as JSON", spellcheck: "false", rows: 16, value: JSON.stringify(turn, null, 2), oninput: check });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function drawPresets(state, choose, { drawHead, say }) {
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
    drawHead();
  };
  return [pick, h("details", { class: "preset-save" }, h("summary", { title: "Keep this turn in the browser" }, "Keep"),
    h("div", { class: "row" }, name, h("button", { type: "button", onclick: save }, "Keep"),
      current?.own && h("button", { type: "button", onclick: () => { deletePreset(current.name); drawHead(); } }, "Forget")))];
}
