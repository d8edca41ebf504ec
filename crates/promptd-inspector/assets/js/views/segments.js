// Segments: the tree of summaries of a stored session, and which of them its prompt shows.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { navigate, parse } from "../router.js";
import { SegmentDetail } from "../segments/detail.js";
import { item } from "../segments/item.js";
import { readSegments, treeOf } from "../segments/tree.js";
import { newestSessions, offer, withSession } from "../sessions/choice.js";
import { turnTo } from "../split.js";

const REFRESH_MS = 3_000;
const NONE = "Choose a session";

export const view = { id: "segments", title: "Segments", needsWorkspace: true, needsMemory: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  const open = new Set();
  let roots = [];
  let carried = new Set();
  let known = ""; // what the service counted when the tree was read
  const session = h("select", { "aria-label": "Session", onchange: () => go({ session: session.value, segment: "" }) });
  const only = h("input", { type: "checkbox", onchange: () => draw() });
  const count = h("span", { class: "muted", dataset: { count: "segments" } });
  const list = h("ul", { class: "split-list card", "aria-label": "Segments, in the order of their messages" });
  const detail = new SegmentDetail();
  const split = h("div", { class: "split" }, list, detail.element);
  const body = h("div", {}, split);
  const loading = latest((error) => replace(body, errorCard(error)));
  const looking = latest(context.report);

  const chosen = () => parse(location.hash).parameters;
  const go = (parameters) => {
    const { profile, revision } = state;
    navigate({ workspaceId: state.workspaceId, viewId: "segments", parameters: { profile, revision, ...chosen(), ...parameters } });
  };
  const load = () => loading.run(async (signal) => {
    const { workspaceId } = state;
    const ids = await newestSessions(rpc.call, workspaceId, signal);
    const { session: named = state.turn.session_id ?? ids[0] ?? "" } = chosen();
    offer(session, ids, named, NONE);
    const { segments, isAll } = named ? await readSegments(rpc.call, { workspaceId, sessionId: named }, signal) : { segments: [], isAll: true };
    carried = segments.length ? await shown(context, named, signal) : new Set();
    if (!split.isConnected) replace(body, split);
    roots = treeOf(segments);
    const waiting = segments.filter((each) => !each.segment.summary).length;
    replace(count, [
      `${isAll ? "" : "the first "}${format.counted(segments.length, "segment")}`, waiting > 0 && `${format.number(waiting)} without a summary`,
      `${format.number(carried.size)} in context`,
    ].filter(Boolean).join(" · "));
    draw();
  });
  const draw = () => {
    const all = flat(roots);
    const parent = new Map(all.flatMap((node) => node.children.map((child) => [child, node])));
    // What is chosen is in view.
    for (let node = parent.get(all.find(isChosen)); node; node = parent.get(node)) open.add(node.stored.segment.id);
    const nodes = only.checked ? all.filter(({ stored }) => carried.has(stored.segment.id)).map(({ stored }) => ({ stored, children: [] })) : roots;
    const held = list.contains(document.activeElement) && { ...document.activeElement.dataset };
    const view = { route: { workspaceId: state.workspaceId, viewId: "segments", parameters: { profile: state.profile, revision: state.revision, session: session.value } }, carried, open };
    replace(list, nodes.length ? nodes.map((node) => item(node, view)) : h("li", { class: "empty" }, nothing()));
    for (const [key, id] of Object.entries(held || {})) if (key === "segment" || key === "toggle") list.querySelector(`[data-${key}="${CSS.escape(id)}"]`)?.focus();
    turnTo(split, (chosen().segment ?? "") !== "", () => detail.show(all.find(isChosen), view));
    for (const link of list.querySelectorAll("[data-segment]")) {
      if (link.dataset.segment === chosen().segment) link.setAttribute("aria-current", "true");
    }
  };
  const isChosen = ({ stored }) => stored.segment.id === chosen().segment;
  const nothing = () => {
    if (!session.value) return "No conversation of this workspace is stored.";
    return only.checked && roots.length ? "The prompt of this session shows no summary." : "The messages of this session are in no segment yet.";
  };
  // A summary changes no session, so the counts are asked for.
  const look = () => looking.run(async (signal) => {
    const now = JSON.stringify(await rpc.call("SessionService/GetRecallStats", { workspaceId: state.workspaceId }, { signal }));
    if (now === known) return;
    known = now;
    await load();
  });
  const timer = setInterval(() => document.visibilityState === "visible" && look(), REFRESH_MS);

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Segments"), h("label", { class: "check choice" }, "Session", session),
    h("label", { class: "check" }, only, "In context only"), count), body);
  offer(session, [], chosen().session ?? "", NONE);
  look();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "route") {
        const { session: named = "" } = chosen();
        if (named && named !== session.value) load();
        else draw();
      }
      if (kind === "workspace" || ["turn", "profile", "revision"].some((key) => keys.includes(key))) load();
    },
    destroy: () => { clearInterval(timer); looking.stop(); loading.stop(); },
  };
}

/** The ids of the segments whose summaries the session's prompt shows. */
async function shown({ state, rpc, report }, session, signal) {
  const { workspaceId, profile, revision } = state;
  try {
    const { conversationWindow } = await rpc.call("PromptService/AssemblePrompt", { workspaceId, profile, revision, turn: withSession(state.turn, session) }, { signal });
    return new Set(conversationWindow?.summaryIds ?? []);
  } catch (error) {
    if (!signal.aborted) report(error);
    return new Set();
  }
}

function flat(nodes) {
  return nodes.flatMap((node) => [node, ...flat(node.children)]);
}
