// Starts the page: the token where one is needed, the shell, the view that the address names, and the live watch.

import { clear, h, replace } from "./dom.js";
import { errorCard } from "./errors.js";
import { closeDrawer, openFile, refreshDrawer } from "./drawer.js";
import { watch } from "./live.js";
import { navigate, onRoute, parse } from "./router.js";
import * as rpc from "./rpc.js";
import { dismissAll, report } from "./shell/alerts.js";
import { drawBanner } from "./shell/banner.js";
import { drawHeader } from "./shell/header.js";
import { login } from "./shell/login.js";
import { drawTabs } from "./shell/tabs.js";
import { restoreTheme } from "./shell/theme.js";
import { state, subscribe, update } from "./state.js";
import { views as all } from "./views/index.js";

const main = document.getElementById("view");
const tabs = document.getElementById("tabs");
const status = document.getElementById("status");

const LIVE_SAID = { connected: "Connected.", reconnecting: "The connection was lost; trying again.", gone: "This workspace is no longer served." };

let views = all;
let route = parse(location.hash);
let shown = null; // the view on the page, and what its mount gave back
let stopWatch = () => {};
let signingIn = null;

const context = {
  state, update, openFile, report,
  rpc: { call: rpc.call, stream: rpc.stream },
  navigate: (viewId, parameters = {}) => {
    const { workspaceId = route.workspaceId, ...rest } = parameters;
    navigate({ workspaceId: viewId === "workspaces" ? "" : workspaceId, viewId, parameters: { ...pinned(), ...rest } });
  },
  say: (text) => replace(status, text),
};

start().catch((error) => replace(main, errorCard(error)));

async function start() {
  restoreTheme();
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  const info = await fetch("/info.json").then((answer) => answer.json());
  views = all.filter((view) => info.hasMemory || !view.needsMemory);
  if (info.needsToken) await login(main);
  rpc.onUnauthenticated(signIn);
  drawHeader(document.getElementById("header"), choose);
  drawBanner(document.getElementById("banner"), context);
  subscribe((keys) => shown?.page.refresh({ kind: "state", keys }));
  onRoute(follow);
  await begin();
}

// The first view: that of the address, or of the only workspace there is.
async function begin() {
  if (!route.workspaceId && location.hash === "") {
    const { workspaces = [] } = await rpc.call("WorkspaceService/ListWorkspaces", { pageSize: 2 });
    if (workspaces.length === 1) return navigate({ workspaceId: workspaces[0].id, viewId: "prompt", parameters: {} }, true);
  }
  follow(route);
}

// A token that was revoked, or that is needed by now: everything waits for another.
function signIn() {
  if (signingIn) return;
  unmount();
  stopWatch();
  update({ workspaceId: "" });
  signingIn = login(main).then(() => {
    signingIn = null;
    follow(parse(location.hash));
  });
}

function follow(next) {
  if (signingIn) return;
  const moved = next.workspaceId !== state.workspaceId;
  route = next;
  if (moved) dismissAll();
  update({ workspaceId: next.workspaceId, profile: next.parameters.profile ?? "", revision: next.parameters.revision ?? "" });
  if (moved) watchWorkspace(next.workspaceId);
  const view = views.find((each) => each.id === next.viewId) ?? views[0];
  route.viewId = view.id;
  drawTabs(tabs, views, route);
  if (shown?.id === view.id && !moved) return shown.page.refresh({ kind: "route" });
  mount(view);
}

function mount(view) {
  unmount();
  clear(main);
  const root = h("div", { class: "view", dataset: { view: view.id } });
  main.append(h("h1", { class: "unseen" }, [view.title, route.workspaceId].filter(Boolean).join(" · ")), root);
  shown = { id: view.id, page: view.mount(root, context) };
  window.scrollTo(0, 0);
}

function unmount() {
  closeDrawer();
  shown?.page.destroy();
  shown = null;
}

function watchWorkspace(workspaceId) {
  stopWatch();
  if (!workspaceId) return;
  stopWatch = watch(workspaceId, {
    live: (live) => {
      if (live !== state.live && live !== "connecting") context.say(LIVE_SAID[live]);
      update({ live });
    },
    published: (workspace, changedPaths, first) => {
      refreshDrawer();
      update({ workspace });
      if (!first) shown?.page.refresh({ kind: "workspace", changedPaths });
    },
    failed: report,
  });
}

function choose({ workspaceId, ...parameters }) {
  if (workspaceId !== undefined) navigate({ workspaceId, viewId: route.workspaceId ? route.viewId : "prompt", parameters: {} });
  else navigate({ ...route, parameters: { ...route.parameters, ...parameters } });
}

function pinned() {
  return { profile: state.profile, revision: state.revision };
}
