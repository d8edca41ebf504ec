// Findings: everything that there is to say about the workspace's files and the newest prompt, the worst first.

import { h, replace } from "../dom.js";
import { excerpt } from "../excerpt.js";
import { counted, enumName } from "../format.js";
import { assemble, follow } from "../prompt/assembly.js";

const SEVERITIES = ["SEVERITY_ERROR", "SEVERITY_WARNING", "SEVERITY_INFO"];
const TONES = { SEVERITY_ERROR: "bad", SEVERITY_WARNING: "warn", SEVERITY_INFO: "" };

export const view = { id: "findings", title: "Findings", needsWorkspace: true, mount };

function mount(root, context) {
  const { state } = context;
  let drawn = null;
  const draw = () => {
    const all = collect(state);
    const text = JSON.stringify(all);
    if (text === drawn) return;
    drawn = text;
    replace(root, h("div", { class: "findings" }, heading(all, state),
      SEVERITIES.map((severity) => all.filter((each) => each.severity === severity)).filter((group) => group.length)
        .map((group) => h("ul", { class: "stack" }, group.map((each) => drawFinding(each, context))))));
  };
  draw();
  if (!state.prompt) assemble();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace" && !state.revision) {
        drawn = null; // the excerpts may be others
        assemble();
      }
      if (kind === "state") follow(keys);
      draw();
    },
    destroy: () => {},
  };
}

// One that both the workspace and the prompt have is shown once.
function collect({ workspace, prompt }) {
  const all = new Map();
  const add = (findings, from) => {
    for (const each of findings ?? []) {
      const key = JSON.stringify([each.code, each.path, each.line, each.column, each.field, each.message]);
      all.set(key, { ...each, from: all.has(key) ? "files and prompt" : from });
    }
  };
  add(workspace?.findings, "files");
  add(prompt?.findings, "prompt");
  return [...all.values()];
}

function heading(all, { workspace, prompt }) {
  if (!all.length) return h("p", { class: "empty" }, workspace || prompt ? "Nothing to report: no error, no warning, nothing lost." : "Loading…");
  const counts = SEVERITIES.map((severity) => [severity, all.filter((each) => each.severity === severity).length]).filter(([, count]) => count);
  return h("p", { class: "row" }, counts.map(([severity, count]) => h("span", { class: `tag ${TONES[severity]}` }, counted(count, enumName(severity), severity === "SEVERITY_INFO" ? "infos" : undefined))));
}

function drawFinding(finding, { openFile, navigate }) {
  const { severity, code, message, path, line, column, field, from } = finding;
  const place = [path, line, column].filter(Boolean).join(":");
  return h("li", { class: "finding card", dataset: { finding: code, severity } },
    h("div", { class: "row" },
      h("span", { class: `tag ${TONES[severity] ?? ""}` }, enumName(severity)), h("code", {}, code),
      place && h("button", { class: "quiet place mono", onclick: () => openFile({ path, line, column }) }, place),
      field && h("button", { class: "quiet place mono", onclick: () => navigate("prompt") }, field),
      h("span", { class: "muted small from" }, `from the ${from}`)),
    h("p", { class: "message-text" }, message), excerpt(finding));
}
