// One skill: what prompts say about it, and the text of its files.

import { copyButton } from "../copy.js";
import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { bytesOf, numberedLines, textOf } from "../lines.js";
import { format as address } from "../router.js";
import { back } from "../split.js";

/** The panel beside the list of skills. */
export class SkillDetail {
  /** @param {object} context of the view */
  constructor(context) {
    this.context = context;
    this.head = h("div", { class: "detail-head" });
    this.body = h("div", { class: "detail-body" });
    /** @type {HTMLElement} */
    this.element = h("section", { class: "split-detail card", "aria-label": "Skill" });
    this.reading = latest((error) => replace(this.body, errorCard(error)));
  }

  /**
   * Shows a skill, or says how to choose one.
   * @param {object} [skill] as listed
   * @param {string} name
   * @param {string} file relative to its folder; empty: SKILL.md
   * @param {object} [skillFilter] the turn's, if it was applied
   */
  show(skill, name, file, skillFilter) {
    if (!skill) {
      this.known = "";
      this.reading.stop();
      replace(this.element, h("p", { class: "empty" }, name ? ["There is no skill ", h("bdi", {}, name), "."] : "Choose a skill to see its text and files."));
      return;
    }
    replace(this.head, back(this.address("")), h("div", { class: "row spread" }, h("h2", {}, h("bdi", {}, skill.name)),
      h("span", { class: ["tag", skill.shown && "good"] }, skill.shown ? "shown" : "hidden")),
    !skill.shown && h("p", { class: "why" }, h("bdi", {}, skill.hiddenReason)),
    h("p", {}, h("bdi", {}, skill.description)), h("p", { class: "small muted" }, h("code", { class: "wrap" }, skill.location)));
    if (!this.element.contains(this.body)) replace(this.element, this.head, this.body);
    if (!skill.shown) {
      this.known = "";
      this.reading.stop();
      return replace(this.body, h("p", { class: "empty" }, "The text of a hidden skill is not sent."));
    }
    this.reading.run((signal) => this.read(skill, file, skillFilter, signal));
  }

  stop() {
    this.reading.stop();
  }

  async read(skill, file, skillFilter, signal) {
    const { state, rpc, say } = this.context;
    const answer = await rpc.call("WorkspaceService/ReadSkill", { workspaceId: state.workspaceId, name: skill.name, file, skillFilter }, { signal });
    const { content, path, sha256, files = [] } = answer;
    const now = JSON.stringify([skill.name, file, answer]);
    if (now === this.known) return;
    this.known = now;
    const text = textOf(content);
    const tabs = ["", ...files].map((each) => h("a", {
      class: "file-tab", href: this.address(skill.name, each), "aria-current": each === file ? "true" : null, dataset: { file: each || "SKILL.md" },
    }, h("bdi", {}, each || "SKILL.md")));
    replace(this.body, h("nav", { class: "file-tabs", "aria-label": "Files of the skill" }, tabs),
      h("div", { class: "row spread detail-note small muted" },
        h("span", {}, h("bdi", { class: "mono" }, path), ` · ${format.bytes(bytesOf(content).length)} · `, h("code", { title: sha256 }, format.short(sha256))),
        text !== null && copyButton("text", () => text, say)),
      text === null ? h("p", { class: "empty" }, "This file is not text.") : numberedLines(text, path));
  }

  address(skill, file = "") {
    const { workspaceId, profile, revision } = this.context.state;
    return address({ workspaceId, viewId: "skills", parameters: { profile, revision, skill, file } });
  }
}
