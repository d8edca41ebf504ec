// The header: which workspace, whose agent, which revision, and whether the page is live.

import { h, replace } from "../dom.js";
import * as format from "../format.js";
import { state, subscribe } from "../state.js";
import { picker } from "./picker.js";
import { themeButton } from "./theme.js";
import { revisionSelect, profileSelect } from "./selects.js";

const LIVE = { connecting: "Connecting", connected: "Live", reconnecting: "Reconnecting", gone: "Gone" };
const LIVE_TITLE = {
  connecting: "Connecting to the server",
  connected: "Connected: a save is shown at once",
  reconnecting: "The connection was lost; trying again",
  gone: "This workspace is no longer served, or not to you; what is shown is its last state",
};
const AGE_EVERY_MS = 10_000;

/**
 * Draws the header, once; it follows the state.
 * @param {HTMLElement} root
 * @param {(changes: {workspaceId?: string, profile?: string, revision?: string}) => void} choose
 */
export function drawHeader(root, choose) {
  const mark = h("span", { class: "live", dataset: { live: state.live } });
  const agent = h("span", { class: "agent" });
  const revised = h("span", { class: "revised muted" });
  const context = h("div", { class: "header-context" }, agent, profileSelect(choose), revisionSelect(choose), revised);
  replace(root,
    h("a", { class: "brand", href: "#/", "aria-label": "promptd: all workspaces" }, h("img", { src: "/icon.svg", alt: "", width: 20, height: 20 }), h("span", {}, "promptd")),
    picker(choose), context, h("div", { class: "header-end" }, mark, themeButton()));
  const follow = () => {
    const { workspace, workspaceId } = state;
    context.hidden = mark.hidden = !workspaceId;
    replace(agent, workspace?.agentName || workspace?.agentId || "");
    agent.title = "The agent's name";
    mark.dataset.live = state.live;
    mark.title = LIVE_TITLE[state.live];
    replace(mark, LIVE[state.live]);
    revised.title = format.time(workspace?.loadedAt);
    replace(revised, workspace?.loadedAt ? `${state.revision ? "newest saved" : "saved"} ${format.age(workspace.loadedAt)}` : "");
    document.title = `${workspaceId ? `${workspaceId} · ` : ""}promptd inspector`;
  };
  follow();
  subscribe(follow);
  setInterval(follow, AGE_EVERY_MS);
}
