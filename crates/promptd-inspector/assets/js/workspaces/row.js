// One workspace in the list.

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { format as address } from "../router.js";

const STATES = {
  served: ["good", "served", "Nothing is wrong with its files"],
  warnings: ["warn", "warnings", "Served; something in its files looks wrong or was left out"],
  errors: ["bad", "last good in use", "A file has an error: the last good version is in use until it is fixed"],
  never: ["bad", "never loaded", "Its files have errors and there is no good version: it has no prompt"],
};

/** The names of the columns, in order. */
export const COLUMNS = ["Workspace", "State", "Findings", "Context", "Skills", "Profile", "Revision", "Changed"];

/** A row that can be brought up to date in its place. */
export class Row {
  /** @param {object} workspace */
  constructor(workspace) {
    this.agent = h("bdi", { class: "muted small ws-agent" });
    this.link = h("a", { href: address({ workspaceId: workspace.id, viewId: "prompt" }) }, h("bdi", {}, workspace.id));
    this.cells = COLUMNS.slice(1).map((name) => h("span", { role: "cell", class: `ws-${name.toLowerCase()}` }));
    /** @type {HTMLElement} */
    this.element = h("div", { role: "row", class: "ws-row", dataset: { workspace: workspace.id } },
      h("span", { role: "cell", class: "ws-workspace" }, this.link, this.agent), this.cells);
    this.update(workspace);
  }

  /** Shows what there is to say now; the link stays, and with it the focus. @param {object} workspace */
  update(workspace) {
    const [changed] = this.cells.slice(-1);
    const text = format.age(workspace.loadedAt);
    if (changed.textContent !== text) changed.textContent = text;
    const now = JSON.stringify(workspace);
    if (now === this.known) return;
    this.known = now;
    const state = stateOf(workspace);
    const [kind, name, meaning] = STATES[state];
    const { profile = "", revision = "", skillsShown = 0, skillsHidden = 0, agentName = "" } = workspace;
    this.element.dataset.state = state;
    replace(this.agent, agentName === workspace.id ? "" : agentName);
    const contents = [
      h("span", { class: `tag ${kind}`, title: meaning }, name), findings(workspace), size(workspace.contextSize),
      skillsShown + skillsHidden > 0 && h("span", { title: `${skillsShown} shown, ${skillsHidden} hidden` }, skillsHidden ? `${skillsShown} of ${skillsShown + skillsHidden}` : String(skillsShown)),
      profile, h("code", { title: revision }, format.short(revision)),
    ];
    contents.forEach((content, index) => replace(this.cells[index], content));
    changed.title = format.time(workspace.loadedAt);
  }
}

/** How a workspace is. @param {object} workspace @returns {"served"|"warnings"|"errors"|"never"} */
export function stateOf({ revision, errors = 0, warnings = 0 }) {
  if (!revision) return "never";
  if (errors) return "errors";
  return warnings ? "warnings" : "served";
}

function findings({ errors = 0, warnings = 0 }) {
  return [
    errors > 0 && h("span", { class: "ws-errors-count" }, format.counted(errors, "error")),
    errors > 0 && warnings > 0 && " ",
    warnings > 0 && h("span", { class: "ws-warnings-count" }, format.counted(warnings, "warning")),
  ];
}

function size(size) {
  return size && h("span", { title: `${format.number(size.bytes)} bytes` }, `${format.number(size.chars)} chars`);
}
