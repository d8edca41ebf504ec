// As sent: the prompt as a fragment of each provider's request, and the call that gives it.

import { copyButton } from "../copy.js";
import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import { findingLines } from "../finding.js";
import * as format from "../format.js";
import { FORMATS } from "../formats.js";
import { latest, paused } from "../latest.js";
import { kept, keep } from "../state.js";
import { callPanel } from "../sent/call.js";
import { drawJson } from "../sent/json.js";
import { drawPlain } from "../sent/lines.js";

const TYPING_MS = 150;
const CHOSEN = "promptd.sent.format";
const BREAKS = "promptd.sent.breaks";
const REWRITES = new Set(["TOOL_CALL_ID_REWRITTEN"]); // findings that are about the fragment alone
const FOLLOWS = ["turn", "profile", "revision", "tokenEncoding"];

export const view = { id: "sent", title: "As sent", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let chosen = FORMATS.find(({ id }) => id === kept(CHOSEN, "")) ?? FORMATS[3];
  let answer = null;
  const tabs = h("div", { class: "row formats", role: "radiogroup", "aria-label": "Provider's format" });
  const breaks = h("input", { type: "checkbox", checked: kept(BREAKS, true), onchange: () => { keep(BREAKS, breaks.checked); draw(); } });
  const facts = h("div", { class: "stack" });
  const fragment = h("pre", { class: "text fragment", tabindex: 0, "aria-label": "The fragment", dataset: { fragment: chosen.id } });
  const pane = h("section", { class: "card" });
  const call = callPanel(context);
  const loading = latest((error) => replace(pane, errorCard(error)));

  const request = () => {
    const { workspaceId, profile, revision, turn } = state;
    return Object.fromEntries(Object.entries({ workspaceId, profile, revision, turn, renderFormat: chosen.id })
      .filter(([, value]) => (typeof value === "object" ? Object.keys(value).length > 0 : value !== "")));
  };
  const load = () => loading.run(async (signal) => {
    call.show(request());
    const next = await rpc.call("PromptService/AssemblePrompt", { ...request(), tokenEncoding: state.tokenEncoding, omitSections: true }, { signal });
    if (answer && pane.contains(fragment) && JSON.stringify(answer) === JSON.stringify(next) && fragment.dataset.fragment === chosen.id) return;
    answer = next;
    draw();
  });
  const draw = () => {
    const { rendered = "", findings = [], size, cachePlan } = answer;
    const text = chosen.id === "RENDER_FORMAT_TEXT";
    const drawn = text ? { element: drawPlain(rendered), marks: [] } : drawJson(rendered, breaks.checked);
    fragment.dataset.fragment = chosen.id;
    replace(fragment, drawn.element);
    const rewritten = findings.filter(({ code }) => REWRITES.has(code));
    const others = findings.filter(({ code }) => !REWRITES.has(code));
    replace(facts,
      h("div", { class: "row spread" },
        h("span", {}, plain(chosen.what), h("span", { class: "muted" }, ` ${format.bytes(new TextEncoder().encode(rendered).length)}${size?.tokens ? `, ${format.counted(size.tokens, "token")} of text` : ""}`)),
        h("span", { class: "row" }, !text && h("label", { class: "check" }, breaks, "Break lines at \\n"), copyButton("fragment", () => answer.rendered ?? "", context.say))),
      marksLine(drawn.marks, text, cachePlan),
      rewritten.length > 0 && h("div", {}, h("h3", {}, "Rewritten for this provider"), findingLines(rewritten, context)),
      others.length > 0 && h("details", {}, h("summary", {}, `${format.counted(others.length, "finding")} of this prompt`), findingLines(others, context)));
    replace(pane, h("div", { class: "detail-head" }, facts), fragment);
  };
  const pick = (next) => {
    chosen = next;
    keep(CHOSEN, chosen.id);
    for (const [index, tab] of [...tabs.children].entries()) {
      tab.setAttribute("aria-checked", String(FORMATS[index] === chosen));
      tab.tabIndex = FORMATS[index] === chosen ? 0 : -1;
    }
    load();
  };
  const typed = paused(load, TYPING_MS);

  replace(tabs, FORMATS.map((each, index) => h("button", { type: "button", role: "radio", class: "choice-button", dataset: { format: each.id }, onclick: () => pick(each),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = (index + step + FORMATS.length) % FORMATS.length;
      tabs.children[at].focus();
      pick(FORMATS[at]);
    } }, each.title)));
  replace(root, h("div", { class: "view-head" }, h("h1", {}, "As sent"), tabs), h("div", { class: "sent" }, pane, call.element));
  pick(chosen);
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace") load();
      else if (keys.some((key) => FOLLOWS.includes(key))) typed();
    },
    destroy: () => { typed.stop(); loading.stop(); },
  };
}

// How many cache marks there are, with a button to go to each.
function marksLine(marks, text, plan) {
  if (text) return false;
  const where = plan?.behindConversation && ` What follows the conversation is sent ${plan.behindConversation === "system_part" ? "at the end of the system part" : `behind it, as ${plan.behindConversation}`}.`;
  if (!marks.length) return h("p", { class: "muted small" }, "No cache marks in this fragment.", where);
  const go = (mark) => {
    mark.scrollIntoView({ block: "center" });
    mark.focus();
  };
  return h("div", { class: "row small" }, h("span", {}, format.counted(marks.length, "cache mark"), where), marks.map((mark, index) =>
    h("button", { type: "button", class: "small", "aria-label": `Go to cache mark ${index + 1}`, onclick: () => go(mark) }, String(index + 1))));
}

function plain(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}
