// Findings: what there is to say about the workspace's files.

import { h, replace } from "../dom.js";

export const view = { id: "findings", title: "Findings", needsWorkspace: true, mount };

function mount(root, context) {
  const show = () => replace(root, (context.state.workspace?.findings ?? []).map((each) => h("p", { dataset: { finding: each.code } }, each.code, " ", each.message)));
  show();
  return { refresh: show, destroy: () => {} };
}
