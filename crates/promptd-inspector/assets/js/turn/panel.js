// The turn's panel: a form made from the contract and the profile's inputs, or the same as JSON. The prompt follows.

import { h, replace } from "../dom.js";
import { call } from "../rpc.js";
import { changed, drawFields, showError } from "./form.js";
import { problemOf } from "./json.js";
import { drawPresets } from "./preset-picker.js";
import { inputFields, readTurnFields } from "./shapes.js";

export class TurnPanel {
  /** @param {object} context as views have it */
  constructor(context) {
    this.context = context;
    this.mode = "form";
    this.fields = [];
    this.inputs = { profile: null, fields: [] };
    this.own = context.state.turn; // the turn as this panel has it; another one came from elsewhere
    this.violations = [];
    this.head = h("div", { class: "turn-head" });
    this.problem = h("p", { class: "field-error", role: "status" });
    this.body = h("div", { class: "turn-body" });
    this.help = h("p", { class: "turn-help small", "aria-hidden": "true" });
    const helpFor = (event) => replace(this.help, event.target.closest("[data-help]")?.dataset.help ?? "");
    this.element = h("form", { class: "turn-panel", onsubmit: (event) => event.preventDefault(), onfocusin: helpFor, onpointerover: helpFor }, this.head, this.problem, this.body, this.help);
    this.form = {
      get: (path) => path.reduce((value, part) => value?.[part], context.state.turn),
      set: (path, value) => this.take(changed(context.state.turn, path, value)),
      redraw: () => this.draw(),
      open: new Set(),
    };
    this.load().catch(context.report);
  }

  /** The state has changed. @param {string[]} keys */
  refresh(keys) {
    const { state, report } = this.context;
    if (keys.includes("profile") || keys.includes("workspace")) this.loadInputs().then((changed) => changed && this.draw(), report);
    if (!keys.includes("turn") || state.turn === this.own) return;
    this.own = state.turn;
    this.draw();
  }

  /** Shows at the fields what a call said of them; null: nothing. @param {import("../rpc.js").RpcError|null} error */
  showError(error) {
    this.violations = error?.violations ?? [];
    this.mark();
  }

  /** Brings a field of the turn into focus. @param {string} field such as `turn.user.name` */
  focusField(field) {
    if (this.mode !== "form") this.show("form");
    const found = nearest(this.body, field);
    for (let group = found?.closest("details"); group; group = group.parentElement.closest("details")) group.open = true;
    found?.querySelector("details")?.setAttribute("open", "");
    found?.querySelector("input, select, textarea, summary")?.focus();
  }

  async load() {
    this.fields = await readTurnFields();
    await this.loadInputs();
    this.draw();
  }

  // Whether the profile is another one now.
  async loadInputs() {
    const { state } = this.context;
    const profile = state.profile || state.workspace?.profile || "";
    if (profile === this.inputs.profile) return false;
    const inputs = { profile, fields: [] };
    this.inputs = inputs;
    if (!profile) return true;
    const answer = await call("ProfileService/GetProfile", { name: profile });
    inputs.fields = inputFields(answer.profile?.inputs ?? []);
    return this.inputs === inputs;
  }

  take(turn) {
    this.own = turn;
    this.context.update({ turn });
    if (!this.head.contains(document.activeElement)) this.drawHead();
  }

  show(mode) {
    this.mode = mode;
    this.draw();
  }

  draw() {
    const held = this.body.querySelector(":focus")?.id;
    this.drawHead();
    replace(this.problem);
    replace(this.help);
    if (this.mode === "json") replace(this.body, drawJson(this.context.state.turn, (turn) => this.take(turn), this.problem));
    else replace(this.body, this.drawForm());
    if (held) document.getElementById(held)?.focus();
    this.mark();
  }

  drawForm() {
    const { profile, fields } = this.inputs;
    return [
      fields.length > 0 && h("fieldset", {}, h("legend", {}, `Inputs of ${profile}`), drawFields(this.form, fields, ["inputs"])),
      h("fieldset", {}, h("legend", { class: fields.length ? "" : "unseen" }, "Turn"), drawFields(this.form, this.fields, [])),
    ];
  }

  drawHead() {
    const choose = (turn) => {
      this.take(turn);
      this.draw();
    };
    replace(this.head, drawPresets(this.context.state, choose, { redraw: () => this.drawHead(), say: this.context.say }),
      h("div", { class: "choices", role: "group", "aria-label": "Turn as" }, ["form", "json"].map((each) =>
        h("button", { type: "button", "aria-pressed": String(this.mode === each), onclick: () => this.show(each) }, each === "form" ? "Form" : "JSON"))));
  }

  mark() {
    const rest = showViolations(this.body, this.violations);
    if (this.mode === "form" || rest.length) replace(this.problem, rest.map(({ field, description }) => (field ? `${field}: ${description}` : description)).join("; "));
  }
}

// Shows violations at their fields; the answer are those that have none here.
function showViolations(root, violations) {
  for (const field of root.querySelectorAll("[data-field]:has(> .field-error)")) showError(field, "");
  return violations.filter(({ field, description }) => {
    const found = nearest(root, field);
    if (found) showError(found, description);
    return !found;
  });
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
