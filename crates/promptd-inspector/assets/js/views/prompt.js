// The prompt: what the model is told.

import { h, replace } from "../dom.js";

export const view = { id: "prompt", title: "Prompt", needsWorkspace: true, mount };

function mount(root, context) {
  const show = () => {
    const { workspaceId, profile, revision, turn } = context.state;
    context.rpc.call("PromptService/AssemblePrompt", { workspaceId, profile, revision, turn })
      .then(({ messages = [] }) => replace(root, messages.map((message) =>
        h("div", { class: "card" }, h("h2", {}, message.name), h("pre", { class: "text", "data-message-content": true }, message.content)))), context.report);
  };
  show();
  return { refresh: show, destroy: () => {} };
}
