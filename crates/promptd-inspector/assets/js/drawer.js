// A file's text, beside the view.

import { h, icon, replace } from "./dom.js";
import { call } from "./rpc.js";
import { report } from "./shell/alerts.js";
import { state } from "./state.js";

const root = document.getElementById("drawer");

/** Opens a file of the workspace. @param {{path: string}} place */
export async function openFile({ path }) {
  try {
    const { content = "" } = await call("WorkspaceService/ReadFile", { workspaceId: state.workspaceId, path });
    replace(root, h("div", { class: "drawer-head row spread" }, h("h2", {}, path),
      h("button", { class: "quiet", "aria-label": "Close", onclick: closeDrawer }, icon("M4 4l8 8M12 4l-8 8"))),
    h("pre", { class: "text drawer-text" }, new TextDecoder().decode(Uint8Array.from(atob(content), (each) => each.charCodeAt(0)))));
    root.hidden = false;
  } catch (error) {
    report(error);
  }
}

/** Closes it. */
export function closeDrawer() {
  root.hidden = true;
}
