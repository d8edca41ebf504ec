// What the server says, as it is.

import { h, replace } from "../dom.js";

export const view = { id: "reply", title: "Reply", needsWorkspace: true, mount };

function mount(root, context) {
  const show = () => context.rpc.call("PromptService/ParseReply", { workspaceId: context.state.workspaceId, text: "Hello." })
    .then((answer) => replace(root, h("pre", { class: "text" }, JSON.stringify(answer, null, 2))), context.report);
  show();
  return { refresh: ({ kind }) => kind === "workspace" && show(), destroy: () => {} };
}
