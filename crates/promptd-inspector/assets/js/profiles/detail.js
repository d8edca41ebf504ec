// One profile: its sections in order, its inputs, and the YAML that it was read from.

import { copyButton } from "../copy.js";
import { h } from "../dom.js";
import * as format from "../format.js";
import { numberedLines } from "../lines.js";
import { format as address } from "../router.js";
import { back, scrolled } from "../split.js";

/** @param {object} profile with sections, inputs and source @param {object} context of the view @returns {Array<HTMLElement>} */
export function drawProfile(profile, context) {
  const { name, description, builtIn, sections = [], inputs = [], source = "" } = profile;
  return [
    h("div", { class: "detail-head" }, back(addressOf(context.state)),
      h("div", { class: "row spread" }, h("h2", {}, name), h("span", { class: "row" }, h("span", { class: "tag" }, builtIn ? "built-in" : "the operator's own"), use(name, context))),
      h("p", {}, h("bdi", {}, description))),
    block(`Sections`, format.counted(sections.length, "section"), sectionTable(sections)),
    block(`Inputs`, inputs.length ? format.counted(inputs.length, "input") : "It declares none.", inputs.length > 0 && inputTable(inputs)),
    block("Source", copyButton("YAML", () => source, context.say), numberedLines(source, `Source of ${name}`)),
  ];
}

function use(name, { state, navigate }) {
  const chosen = (state.profile || state.workspace?.profile) === name;
  if (chosen && state.profile) return h("button", { type: "button", dataset: { use: "" }, onclick: () => navigate("profiles", { profile: "", show: name }) }, "Back to the workspace's own");
  return h("button", {
    type: "button", class: "primary", disabled: chosen, dataset: { use: name },
    onclick: () => navigate("profiles", { profile: name === state.workspace?.profile ? "" : name, show: name }),
  }, chosen ? "In use" : "Use it");
}

function addressOf({ workspaceId, profile, revision }) {
  return address({ workspaceId, viewId: "profiles", parameters: { profile, revision } });
}

function block(title, beside, ...content) {
  return h("div", { class: "detail-block" }, h("div", { class: "row spread" }, h("h3", {}, title), h("span", { class: "small muted" }, beside)), content);
}

function sectionTable(sections) {
  return scrolled("Sections", h("table", {}, head(["", "Section", "Message", "Condition", "Changes"]),
    h("tbody", {}, sections.map(({ id, message, gate, stability }, index) =>
      h("tr", { dataset: { profileSection: id } },
        h("td", { class: "number muted" }, String(index + 1)), h("td", {}, h("code", { class: "wrap" }, id)),
        h("td", { class: message === sections[index - 1]?.message && "repeated" }, h("code", { class: "wrap" }, message)),
        h("td", { class: "wide" }, gate ? h("code", { class: "wrap" }, gate) : h("span", { class: "muted" }, "always")),
        h("td", { class: "muted" }, format.enumName(stability)))))));
}

function inputTable(inputs) {
  return scrolled("Inputs", h("table", {}, head(["Input", "Type", "Range", "What for"]),
    h("tbody", {}, inputs.map((input) => h("tr", { dataset: { input: input.name } },
      h("td", {}, h("code", { class: "wrap" }, input.name), input.required && [" ", h("span", { class: "tag warn" }, "required")]),
      h("td", {}, h("code", { class: "wrap" }, input.type)), h("td", {}, range(input)), h("td", { class: "wide" }, h("bdi", {}, input.description)))))));
}

function range({ min, max }) {
  if (min === undefined && max === undefined) return "";
  if (max === undefined) return `${min} or more`;
  return min === undefined ? `${max} at most` : `${min} to ${max}`;
}

function head(names) {
  return h("thead", {}, h("tr", {}, names.map((name) => (name ? h("th", { scope: "col" }, name) : h("th", { scope: "col" }, h("span", { class: "unseen" }, "Number"))))));
}
