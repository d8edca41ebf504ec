// The prompt: what the model is told, message by message, where each byte came from, and what was left out.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import { account } from "../prompt/account.js";
import { assemble, follow } from "../prompt/assembly.js";
import { Messages, placesOf } from "../prompt/messages.js";
import { drawOutline } from "../prompt/outline.js";
import { sourceMap } from "../prompt/source-map.js";
import { drawStatusBar, sentenceOf } from "../prompt/status-bar.js";
import { drawToolbar } from "../prompt/toolbar.js";
import { keep, kept } from "../state.js";
import { TurnPanel } from "../turn/panel.js";

const LOOK_KEY = "promptd.look";
const WIDE = "(min-width: 85rem)"; // there is room for the turn beside the messages
const MIDDLE = "(min-width: 56rem)"; // and for the outline

export const view = { id: "prompt", title: "Prompt", needsWorkspace: true, mount };

function mount(root, context) {
  assemble(); // while the server works, the rest is drawn
  return new PromptView(root, context);
}

class PromptView {
  constructor(root, context) {
    this.context = context;
    this.look = { unit: "tokens", hidden: false, leftOut: true, outline: matchMedia(MIDDLE).matches, turn: matchMedia(WIDE).matches, ...kept(LOOK_KEY, {}) };
    this.homes = { profile: "", of: new Map() };
    this.drawn = ""; // what the messages on the page are of
    this.sizes = new Map(); // of its sections, in characters
    this.change = null; // what the newest save changed, and what was before it
    this.tools = h("div", { class: "toolbar", role: "toolbar", "aria-label": "How the prompt is shown" });
    this.outline = h("nav", { class: "outline", "aria-label": "Sections" });
    this.failed = h("div", { class: "prompt-error" });
    this.list = h("div", { class: "messages" });
    this.panel = new TurnPanel(context);
    this.turn = h("aside", { class: "turn", "aria-label": "Turn" }, this.panel.element);
    this.columns = h("div", { class: "prompt-columns" }, this.outline, h("div", { class: "prompt-middle" }, this.failed, this.list), this.turn);
    this.status = h("div", { class: "status-bar" });
    replace(root, this.tools, this.columns, this.status);
    this.messages = new Messages(this.list, context);
    this.map = this.mapSources();
    drawStatusBar(this.status, null);
    this.set({});
    if (context.state.prompt) this.draw(false);
  }

  mapSources() {
    const focusField = (field) => {
      this.set({ turn: true });
      this.panel.focusField(field);
    };
    return sourceMap(this.list, {
      cardOf: (element) => this.messages.cardOf(element),
      show: (pointed) => drawStatusBar(this.status, pointed),
      announce: (pointed) => this.context.say(sentenceOf(pointed)),
      open: (pointed) => openOrigin(pointed, this.context, focusField),
    });
  }

  /** Changes how the prompt is shown; the browser keeps it. */
  set(changes) {
    const { look } = this;
    Object.assign(look, changes);
    if (Object.keys(changes).length) keep(LOOK_KEY, { ...kept(LOOK_KEY, {}), ...changes });
    this.drawTools();
    this.turn.hidden = !look.turn;
    this.columns.classList.toggle("without-outline", !look.outline);
    this.columns.classList.toggle("without-left-out", !look.leftOut);
    if ("hidden" in changes || "unit" in changes) this.draw(false);
  }

  drawTools() {
    drawToolbar(this.tools, this.look, (changes) => this.set(changes), this.context, this.change);
  }

  draw(mark) {
    const { prompt, promptError, promptLate } = this.context.state;
    const late = promptLate && "The server has not answered yet.";
    const older = prompt && (late || promptError) && "Below is the last prompt that was assembled.";
    replace(this.failed, promptError && errorCard(promptError), (late || older) && h("p", { class: "small", dataset: { late: "" } }, [late, older].filter(Boolean).join(" ")));
    this.list.classList.toggle("stale", Boolean(older));
    const newError = promptError !== this.error && promptError?.violations?.length > 0;
    this.error = promptError;
    if (newError && !this.look.turn) this.set({ turn: true });
    this.panel.showError(promptError);
    if (!prompt) return;
    this.loadHomes(prompt.profile).catch(this.context.report);
    this.drawPrompt(prompt, mark);
    this.map.clear();
    this.drawTools();
  }

  drawPrompt(prompt, mark) {
    const { look, context } = this;
    const entries = account(prompt, this.homes.of);
    const places = placesOf(prompt);
    const of = JSON.stringify([context.state.workspaceId, context.state.revision, prompt.profile]);
    const marked = mark && of === this.drawn; // of another profile or revision everything differs
    const before = this.sizes;
    this.sizes = new Map(prompt.sections.map((section) => [section.id, Number(section.includedSize?.chars ?? 0)]));
    const changed = this.messages.draw(entries, { hidden: look.hidden, toggleHidden: () => this.set({ hidden: !look.hidden }), places, mark: marked });
    if (marked && changed.length && prompt.revision !== this.revision) {
      const by = (id) => (this.sizes.get(id) ?? 0) - (before.get(id) ?? 0);
      this.change = { sections: new Map(changed.map((id) => [id, by(id)])), before: this.revision };
    } else if (of !== this.drawn) this.change = null;
    drawOutline(this.outline, entries, prompt, { unit: look.unit, places, changes: this.change?.sections, jump: (id) => this.messages.jump(id) });
    if (marked && changed.length) context.say(`Changed: ${changed.join(", ")}`);
    this.drawn = of;
    this.revision = prompt.revision;
  }

  // The profile says which message a section belongs to, which an answer does not where there is no text.
  async loadHomes(profile) {
    if (this.homes.profile === profile) return;
    const homes = { profile, of: new Map() };
    this.homes = homes;
    const answer = await this.context.rpc.call("ProfileService/GetProfile", { name: profile });
    homes.of = new Map((answer.profile?.sections ?? []).map((section) => [section.id, section.message ?? ""]));
    if (this.homes === homes) this.draw(false);
  }

  refresh({ kind, keys = [] }) {
    if (kind === "workspace" && !this.context.state.revision) assemble();
    if (kind === "state") follow(keys);
    if (keys.includes("prompt")) this.draw(true);
    else if (keys.includes("promptError") || keys.includes("promptLate")) this.draw(false);
    this.panel.refresh(keys);
  }

  destroy() {
    this.map.clear();
  }
}

function openOrigin({ origin, at, text }, context, focusField) {
  if (origin.place) context.openFile({ ...origin.place, ...at, text });
  else if (origin.field) focusField(origin.field);
  else context.say(`${origin.name}: ${origin.kind}; there is no file to open.`);
}
