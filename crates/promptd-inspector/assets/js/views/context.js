// Context: what the prompt of a session's turn is made of, in tokens: the system's texts, the summary, the messages.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import { findingLines } from "../finding.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { assemble, follow } from "../prompt/assembly.js";
import { newestSessions, offer, withSession } from "../sessions/choice.js";
import { shares } from "../shares.js";
import { scrolled } from "../split.js";

const KINDS = ["system", "summary", "messages"];
const OWN = "None: the turn's own conversation";

export const view = { id: "context", title: "Context", needsWorkspace: true, needsMemory: true, mount };

function mount(root, context) {
  const { state, rpc, update } = context;
  const session = h("select", { "aria-label": "Session", onchange: () => update({ turn: withSession(state.turn, session.value) }) });
  const body = h("div", { class: "stack" });
  const loading = latest(context.report);
  const load = () => loading.run(async (signal) => {
    const ids = await newestSessions(rpc.call, state.workspaceId, signal);
    offer(session, ids, state.turn.session_id ?? "", OWN);
  });
  const draw = () => {
    const { prompt, promptError } = state;
    replace(body, promptError && errorCard(promptError), prompt && !promptError && account(prompt, context));
  };

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Context"), h("label", { class: "check choice" }, "Session", session)), body);
  offer(session, [], state.turn.session_id ?? "", OWN);
  load();
  draw();
  assemble();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace" && !state.revision) assemble();
      if (kind === "state") follow(keys);
      if (keys.includes("prompt") || keys.includes("promptError")) draw();
    },
    destroy: () => loading.stop(),
  };
}

/** Which of the three a section belongs to. @param {object} section @param {object[]} messages of the prompt @returns {"system"|"summary"|"messages"} */
function kindOf({ id, messageIndex }, messages) {
  if (id === "conversation_summary") return "summary";
  if (id === "conversation") return "messages";
  return messages[messageIndex ?? 0]?.role === "ROLE_SYSTEM" ? "system" : "messages";
}

function account(prompt, context) {
  const size = ({ includedSize }) => Number(includedSize?.tokens ?? 0);
  const rows = prompt.sections.filter((section) => section.cardIndex === undefined && size(section) > 0)
    .map((section) => ({ section, kind: kindOf(section, prompt.messages), tokens: size(section) }));
  const sum = (kind) => rows.filter((row) => row.kind === kind).reduce((tokens, row) => tokens + row.tokens, 0);
  const total = Number(prompt.size?.tokens ?? 0);
  const parts = KINDS.map((kind) => ({ kind, count: sum(kind), words: `${format.number(sum(kind))} ${kind} (${format.share(sum(kind), total)})` }));
  const findings = prompt.findings.filter(({ code = "" }) => code.startsWith("CONVERSATION_"));
  return [
    h("section", { class: "card padded stack", "aria-label": "Tokens" },
      h("p", {}, h("strong", { dataset: { tokens: "" } }, format.number(total)), " tokens, ", format.counted(prompt.messages.length, "message")),
      shares("Tokens", parts), h("p", { class: "small muted" }, facts(prompt).join(" · "))),
    findings.length > 0 && h("section", { class: "card", "aria-label": "Findings" }, findingLines(findings, context)),
    h("section", { class: "card" }, scrolled("Sections and their tokens", h("table", {},
      h("thead", {}, h("tr", {}, ["Section", "Part of"].map((name) => h("th", { scope: "col" }, name)), ["Tokens", "Share"].map((name) => h("th", { scope: "col", class: "number" }, name)))),
      h("tbody", {}, rows.map(({ section, kind, tokens }) => h("tr", { dataset: { contextSection: section.id } },
        h("th", { scope: "row" }, h("bdi", {}, section.id)),
        h("td", {}, h("span", { class: "share-key", dataset: { kind }, "aria-hidden": "true" }), kind),
        h("td", { class: "number" }, format.number(tokens)), h("td", { class: "number" }, format.share(tokens, total)))))))),
  ];
}

function facts({ sessionPosition, conversationWindow: window, messages }) {
  const carried = messages.filter(({ conversationIndex }) => conversationIndex !== undefined).length;
  return [
    sessionPosition !== undefined && `session at position ${format.number(sessionPosition)}`,
    `${format.counted(carried, "message")} of the conversation`,
    window && `from message ${format.number(window.cut)} on`,
    Number(window?.tokenBudget) > 0 && `${format.number(window.estimatedTokens)} of ${format.number(window.tokenBudget)} estimated tokens`,
    Number(window?.uncovered) > 0 && `${format.counted(window.uncovered, "message")} neither carried nor summarised`,
  ].filter(Boolean);
}
