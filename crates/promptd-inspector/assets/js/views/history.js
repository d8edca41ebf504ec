// History: the revisions that the server still holds, newest first, and what changed in each.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";

const AGE_EVERY_MS = 10_000;

export const view = { id: "history", title: "History", needsWorkspace: true, mount };

function mount(root, context) {
  const { state, rpc } = context;
  let revisions = [];
  const count = h("span", { class: "muted", dataset: { count: "revisions" } });
  const body = h("div", {});
  const loading = latest((error) => replace(body, errorCard(error)));
  const load = () => loading.run(async (signal) => {
    ({ revisions = [] } = await rpc.call("WorkspaceService/ListRevisions", { workspaceId: state.workspaceId }, { signal }));
    draw();
  });
  const draw = () => {
    const held = body.contains(document.activeElement) && document.activeElement.dataset.act;
    replace(count, `${format.counted(revisions.length, "revision")} held`);
    replace(body, revisions.length
      ? h("ol", { class: "card revisions", "aria-label": "Revisions, newest first" }, revisions.map((each, index) => item(each, index, revisions, context)))
      : h("p", { class: "empty" }, "The server holds no revision of this workspace."));
    if (held) body.querySelector(`[data-act="${CSS.escape(held)}"]`)?.focus();
  };
  const ages = setInterval(() => {
    for (const each of body.querySelectorAll("[data-age]")) replace(each, format.age(each.dataset.age));
  }, AGE_EVERY_MS);

  replace(root, h("div", { class: "view-head" }, h("h1", {}, "History"), count,
    h("p", { class: "muted small view-note" }, "A pinned revision is what all views show until you go back to the newest.")), body);
  load();
  return {
    refresh: ({ kind, keys = [] }) => {
      if (kind === "workspace") load();
      else if (keys.includes("revision")) draw();
    },
    destroy: () => { loading.stop(); clearInterval(ages); },
  };
}

function item(each, index, revisions, { state, navigate }) {
  const { revision, loadedAt, profile, changedPaths = [], errors = 0, warnings = 0 } = each;
  const before = revisions[index + 1];
  const newest = revisions[0].revision;
  const pinned = state.revision === revision;
  const act = (name, label, onclick) => h("button", { type: "button", onclick, dataset: { act: `${name} ${revision}` }, "aria-label": `${label}, revision ${format.short(revision)}` }, label);
  return h("li", { class: ["revision", pinned && "chosen"], dataset: { revision } },
    h("div", { class: "revision-when" },
      h("div", { class: "row" }, h("code", { class: "revision-id", title: revision }, format.short(revision)),
        index === 0 && h("span", { class: "tag good" }, "newest"), pinned && h("span", { class: "tag warn" }, "pinned")),
      h("div", { class: "small muted", title: loadedAt }, h("span", { dataset: { age: loadedAt } }, format.age(loadedAt)), ` · ${format.time(loadedAt)}`)),
    h("div", { class: "revision-what" },
      h("ul", { class: "paths" }, changedPaths.map((path) => h("li", {}, h("code", {}, path)))),
      !changedPaths.length && h("span", { class: "muted" }, before ? "Nothing that this list names changed." : "The oldest that is held."),
      h("div", { class: "row small" }, h("span", { class: "muted" }, profile),
        errors > 0 && h("span", { class: "tag bad" }, format.counted(errors, "error")), warnings > 0 && h("span", { class: "tag warn" }, format.counted(warnings, "warning")))),
    h("div", { class: "row revision-acts" },
      pinned ? act("pin", "Unpin", () => navigate("history", { revision: "" })) : index > 0 && act("pin", "Pin", () => navigate("history", { revision })),
      before && act("before", "Compare with the one before", () => navigate("compare", { before: before.revision, after: index === 0 ? "" : revision })),
      index > 0 && newest !== before?.revision && act("newest", "Compare with the newest", () => navigate("compare", { before: revision, after: "" }))));
}
