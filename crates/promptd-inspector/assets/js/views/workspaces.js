// What the server says, as it is.

import { h, replace } from "../dom.js";

export const view = { id: "workspaces", title: "Workspaces", needsWorkspace: false, mount };

function mount(root, context) {
  const show = () => context.rpc.call("WorkspaceService/ListWorkspaces", { pageSize: 100 })
    .then((answer) => replace(root, h("pre", { class: "text" }, JSON.stringify(answer, null, 2))), context.report);
  show();
  return { refresh: ({ kind }) => kind === "workspace" && show(), destroy: () => {} };
}
