// Profiles: the recipes that prompts are assembled by.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { drawProfile } from "../profiles/detail.js";
import { format as address, parse } from "../router.js";
import { turnTo } from "../split.js";

const PAGE_SIZE = 1_000;

export const view = { id: "profiles", title: "Profiles", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let profiles = [];
  const list = h("ul", { class: "split-list card", "aria-label": "Profiles" });
  const detail = h("section", { class: "split-detail card", "aria-label": "Profile" });
  const split = h("div", { class: "split" }, list, detail);
  const count = h("span", { class: "muted", dataset: { count: "profiles" } });
  const loading = latest((error) => replace(list, h("li", {}, errorCard(error))));
  const reading = latest((error) => replace(detail, errorCard(error)));
  let drawn = "";

  const inUse = () => state.profile || state.workspace?.profile || "";
  const load = () => loading.run(async (signal) => {
    ({ profiles = [] } = await rpc.call("ProfileService/ListProfiles", { pageSize: PAGE_SIZE }, { signal }));
    replace(count, format.counted(profiles.length, "profile"));
    draw();
  });
  const draw = () => {
    const { show = "" } = parse(location.hash).parameters;
    const name = show || inUse();
    const held = list.contains(document.activeElement) && document.activeElement.dataset.profile;
    replace(list, profiles.map((profile) => item(profile, profile.name === name, inUse(), state)));
    if (held) list.querySelector(`[data-profile="${CSS.escape(held)}"]`)?.focus();
    turnTo(split, show !== "");
    if (name) read(name);
  };
  const read = (name) => reading.run(async (signal) => {
    const { profile } = await rpc.call("ProfileService/GetProfile", { name }, { signal });
    const now = JSON.stringify([profile, state.profile, state.workspace?.profile]);
    if (now === drawn) return;
    drawn = now;
    turnTo(split, split.dataset.chosen === "true", () => replace(detail, drawProfile(profile, context)));
  });

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Profiles"), count), split);
  load();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace") load();
      else if (kind === "route" || keys.includes("profile") || keys.includes("workspace")) draw();
    },
    destroy: () => { loading.stop(); reading.stop(); },
  };
}

function item({ name, description, builtIn }, current, inUse, { workspaceId, profile, revision }) {
  const href = address({ workspaceId, viewId: "profiles", parameters: { profile, revision, show: name } });
  return h("li", {}, h("a", { class: "split-item", href, "aria-current": current ? "true" : null, dataset: { profile: name } },
    h("span", { class: "row spread" }, h("span", { class: "split-name" }, name),
      h("span", { class: "row" }, name === inUse && h("span", { class: "tag good" }, "in use"), !builtIn && h("span", { class: "tag" }, "own"))),
    h("bdi", { class: "small muted clamp" }, description)));
}
