// Skills: every one that was found, whether prompts show it or which rule hides it, and its files.

import { h, icon, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { format as address, parse } from "../router.js";
import { SkillDetail } from "../skills/detail.js";
import { turnTo } from "../split.js";

const PAGE_SIZE = 1_000;

export const view = { id: "skills", title: "Skills", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let skills = [];
  let drawn = "";
  let narrowed = context.state.turn.skill_filter !== undefined; // as the prompt shows them
  const list = h("ul", { class: "split-list card", "aria-label": "Skills" });
  const detail = new SkillDetail(context);
  const split = h("div", { class: "split" }, list, detail.element);
  const count = h("span", { class: "muted", dataset: { count: "skills" } });
  const filter = h("input", { type: "search", "aria-label": "Filter skills", placeholder: "Part of a name or description", autocomplete: "off", spellcheck: "false", oninput: () => draw() });
  const turn = h("input", { type: "checkbox", checked: narrowed, onchange: () => { narrowed = turn.checked; load(); } });
  const turnLabel = h("label", { class: "check" }, turn, "As this turn narrows them");
  const newest = h("p", { class: "muted small view-note", hidden: true }, "A revision is pinned; the skills are those of the newest one.");
  const body = h("div", {}, split);
  const loading = latest((error) => replace(body, errorCard(error)));

  const skillFilter = () => (narrowed ? state.turn.skill_filter : undefined);
  const load = () => loading.run(async (signal) => {
    skills = await readAll(rpc.call, { workspaceId: state.workspaceId, skillFilter: skillFilter() }, signal);
    if (skills.length && !split.isConnected) replace(body, split);
    if (!skills.length) replace(body, h("p", { class: "empty" }, "This workspace has no skills."));
    draw();
    choose();
  });
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    const now = JSON.stringify([wanted, state.profile, state.revision, skills.map((skill) => ({ ...skill, sha256: "" }))]);
    if (now === drawn) return;
    drawn = now;
    const found = skills.filter(({ name, description = "" }) => `${name}\n${description}`.toLowerCase().includes(wanted));
    const shown = skills.filter((skill) => skill.shown).length;
    replace(count, `${format.number(shown)} shown, ${format.number(skills.length - shown)} hidden`, wanted && ` · ${format.number(found.length)} found`);
    const held = list.contains(document.activeElement) && document.activeElement.dataset.skill;
    replace(list, found.map((skill) => item(skill, state)));
    if (held !== false) list.querySelector(`[data-skill="${CSS.escape(held)}"]`)?.focus();
    if (!found.length) replace(list, h("li", { class: "empty" }, "No skill has this in its name or description."));
    mark();
  };
  const mark = () => {
    const { skill = "" } = parse(location.hash).parameters;
    for (const link of list.querySelectorAll("[data-skill]")) {
      if (link.dataset.skill === skill) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const choose = () => {
    const { skill: name = "", file = "" } = parse(location.hash).parameters;
    turnTo(split, name !== "", () => {
      detail.show(skills.find((skill) => skill.name === name), name, file, skillFilter());
      mark();
    });
  };
  const follow = () => {
    newest.hidden = state.revision === "";
    const given = state.turn.skill_filter !== undefined;
    turn.disabled = !given;
    turnLabel.title = given ? "Also hides what the turn's skill_filter leaves out" : "The turn has no skill_filter";
    if (!given && narrowed) turn.checked = narrowed = false;
  };

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Skills"), count,
    h("label", { class: "search" }, icon("M7 12A5 5 0 107 2a5 5 0 000 10zM11 11l3 3"), filter), turnLabel, newest), body);
  follow();
  load();
  return {
    refresh: ({ kind, keys = [] }) => {
      const before = narrowed;
      if (keys.includes("turn") || keys.includes("revision")) follow();
      if (kind === "route") {
        draw();
        choose();
      }
      if (kind === "workspace" || (keys.includes("turn") && (narrowed || before))) load();
    },
    destroy: () => { loading.stop(); detail.stop(); },
  };
}

async function readAll(call, request, signal) {
  const all = [];
  let pageToken = "";
  do {
    const { skills = [], nextPageToken = "" } = await call("WorkspaceService/ListSkills", { ...request, pageSize: PAGE_SIZE, pageToken }, { signal });
    all.push(...skills);
    pageToken = nextPageToken;
  } while (pageToken);
  return all;
}

function item(skill, { workspaceId, profile, revision }) {
  const href = address({ workspaceId, viewId: "skills", parameters: { profile, revision, skill: skill.name } });
  return h("li", {}, h("a", { class: "split-item", href, dataset: { skill: skill.name, shown: String(skill.shown ?? false) } },
    h("span", { class: "row spread" }, h("bdi", { class: "split-name" }, skill.name), h("span", { class: ["tag", skill.shown && "good"] }, skill.shown ? "shown" : "hidden")),
    !skill.shown && h("span", { class: "small why" }, h("bdi", {}, skill.hiddenReason)),
    h("bdi", { class: "small muted clamp" }, skill.description)));
}
