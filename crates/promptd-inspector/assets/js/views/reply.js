// Reply: what a model's reply says by the contract that the prompt taught it.

import { copyButton } from "../copy.js";
import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import { findingLines } from "../finding.js";
import * as format from "../format.js";
import { latest, paused } from "../latest.js";
import { Utf8Index } from "../utf8.js";

const TYPING_MS = 150;

/** The reply of each workspace, as long as the page is open. @type {Map<string, {text: string, heartbeat: boolean}>} */
const pasted = new Map();

export const view = { id: "reply", title: "Reply", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc, say } = context;
  const held = pasted.get(state.workspaceId) ?? { text: "", heartbeat: state.turn.heartbeat === true };
  const text = h("textarea", { rows: 14, spellcheck: "false", class: "reply-text", "aria-label": "The model's reply", placeholder: "Paste a model's reply here.", value: held.text, oninput: () => typed() });
  const heartbeat = h("input", { type: "checkbox", checked: held.heartbeat, onchange: () => parse() });
  const contract = h("span", { class: "muted" });
  const result = h("div", { class: "stack", "aria-live": "off" });
  const parsing = latest((error) => replace(result, errorCard(error)));

  const parse = () => parsing.run(async (signal) => {
    const { workspaceId, profile, turn } = state;
    pasted.set(workspaceId, { text: text.value, heartbeat: heartbeat.checked });
    replace(contract, "Read by the contract of ", h("code", {}, profile || state.workspace?.profile || "the workspace's profile"));
    if (!text.value) return replace(result, h("p", { class: "empty" }, "Text, actions and acknowledgement appear here while you type."));
    const answer = await rpc.call("PromptService/ParseReply", { workspaceId, profile, inputs: turn.inputs, text: text.value, heartbeat: heartbeat.checked }, { signal });
    replace(result, drawAnswer(answer, text, context));
    say(summary(answer));
  });
  const typed = paused(parse, TYPING_MS);

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Reply"), contract, h("label", { class: "check" }, heartbeat, "It answers a heartbeat")),
    h("div", { class: "reply" }, h("section", { class: "stack", "aria-label": "The reply" }, text), result));
  parse();
  return {
    refresh: ({ kind, keys = [] }) => (kind === "workspace" || ["profile", "turn", "workspace"].some((key) => keys.includes(key))) && typed(),
    destroy: () => { typed.stop(); parsing.stop(); },
  };
}

function summary({ actions = [], heartbeatOk, findings = [] }) {
  return `${heartbeatOk ? "Acknowledged. " : ""}${format.counted(actions.length, "action")}, ${format.counted(findings.length, "finding")}.`;
}

function drawAnswer(answer, area, context) {
  const { text = "", heartbeatOk = false, actions = [], findings = [] } = answer;
  const places = new Utf8Index(area.value);
  return [
    heartbeatOk && h("p", { class: "card acknowledged", dataset: { acknowledged: "" } }, h("span", { class: "tag good" }, "acknowledged"), " The agent had nothing to say: deliver nothing."),
    h("section", { class: "card" }, h("div", { class: "detail-head row spread" }, h("h2", {}, "Text"), h("span", { class: "row small muted" }, format.counted([...text].length, "character"), text && copyButton("text", () => text, context.say))),
      text ? h("div", { class: "text padded", dataset: { replyText: "" } }, text) : h("p", { class: "empty" }, "No text is left.")),
    h("section", { class: "card" }, h("div", { class: "detail-head row spread" }, h("h2", {}, "Actions"), h("span", { class: "small muted" }, actions.length ? format.number(actions.length) : "none")),
      actions.length > 0 && h("ol", { class: "actions" }, actions.map((action) => drawAction(action, area, places)))),
    findings.length > 0 && h("section", { class: "card" }, h("div", { class: "detail-head" }, h("h2", {}, "Findings")), findingLines(findings, context)),
  ];
}

function drawAction({ tag, payload = {}, payloadText, byteStart = 0, byteEnd = 0 }, area, places) {
  const [start, end] = [places.toIndex(byteStart), places.toIndex(byteEnd)];
  const show = () => {
    area.focus();
    area.setSelectionRange(start, end);
  };
  return h("li", { class: "action", dataset: { action: tag } }, h("div", { class: "row spread" }, h("strong", {}, h("code", { class: "wrap" }, tag)),
    h("button", { type: "button", class: "link small", onclick: show, title: "Select it in the reply" }, `line ${format.number(lineOf(area.value, start))}, bytes ${format.number(byteStart)} to ${format.number(byteEnd)}`)),
  h("pre", { class: "text" }, payloadText || JSON.stringify(payload, null, 2)),
  payloadText && h("p", { class: "small muted" }, "As the reply has it: it holds numbers or keys that cannot be kept otherwise."));
}

function lineOf(text, index) {
  return text.slice(0, index).split("\n").length;
}
