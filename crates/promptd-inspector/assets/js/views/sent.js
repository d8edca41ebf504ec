// What the server says, as it is.

import { h, replace } from "../dom.js";

export const view = { id: "sent", title: "As sent", needsWorkspace: true, mount };

function mount(root, context) {
  const show = () => context.rpc.call("PromptService/AssemblePrompt", { workspaceId: context.state.workspaceId, renderFormat: "RENDER_FORMAT_TEXT" })
    .then((answer) => replace(root, h("pre", { class: "text" }, JSON.stringify(answer, null, 2))), context.report);
  show();
  return { refresh: ({ kind }) => kind === "workspace" && show(), destroy: () => {} };
}
