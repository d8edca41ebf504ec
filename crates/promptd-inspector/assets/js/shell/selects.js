// The header's choices of profile and revision.

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { call } from "../rpc.js";
import { state, subscribe } from "../state.js";
import { report } from "./alerts.js";

const MOST_PROFILES = 1000;

/** @param {(changes: {profile: string}) => void} choose @returns {HTMLElement} the profile, or the workspace's own */
export function profileSelect(choose) {
  const select = h("select", { "aria-label": "Profile", title: "Profile", onchange: () => choose({ profile: select.value }) });
  let names = [];
  const draw = () => {
    const own = state.workspace?.profile;
    const known = state.profile && !names.includes(state.profile) ? [state.profile, ...names] : names;
    replace(select, h("option", { value: "" }, own ? `${own} (its own)` : "its own profile"), known.map((name) => h("option", { value: name }, name)));
    select.value = state.profile;
  };
  const load = async () => {
    const { profiles = [] } = await call("ProfileService/ListProfiles", { pageSize: MOST_PROFILES });
    names = profiles.map((profile) => profile.name);
    draw();
  };
  draw();
  subscribe((keys) => {
    if (keys.includes("workspaceId") && state.workspaceId && !names.length) load().catch(report);
    if (keys.some((key) => ["workspaceId", "workspace", "profile"].includes(key))) draw();
  });
  return h("label", { class: "choice" }, select);
}

/** @param {(changes: {revision: string}) => void} choose @returns {HTMLElement} the newest revision, or one that is held */
export function revisionSelect(choose) {
  const select = h("select", { "aria-label": "Revision", title: "Revision", class: "mono", onchange: () => choose({ revision: select.value }) });
  let held = [];
  const draw = () => {
    const newest = state.workspace?.revision;
    const older = held.filter((each) => each.revision !== newest);
    if (state.revision && !older.some((each) => each.revision === state.revision)) older.unshift({ revision: state.revision });
    replace(select, h("option", { value: "" }, newest ? `${format.short(newest)} newest` : "newest"),
      older.map((each) => h("option", { value: each.revision }, [format.short(each.revision), each.revision === state.revision && "pinned", format.age(each.loadedAt)].filter(Boolean).join(" "))));
    select.value = state.revision;
    select.classList.toggle("pinned", state.revision !== "");
  };
  const load = async () => {
    try {
      const { revisions = [] } = await call("WorkspaceService/ListRevisions", { workspaceId: state.workspaceId });
      held = revisions;
      draw();
    } catch (error) {
      if (error.code !== "unimplemented") report(error);
    }
  };
  draw();
  select.addEventListener("focus", load);
  subscribe((keys) => {
    if (keys.includes("workspaceId")) held = [];
    if (keys.some((key) => ["workspaceId", "workspace", "revision"].includes(key))) draw();
  });
  return h("label", { class: "choice" }, select);
}
