// The workspace picker: type a part of an id or of an agent's name, choose with the arrow keys.

import { h, icon, replace } from "../dom.js";
import { isAbort } from "../errors.js";
import { call } from "../rpc.js";
import { state, subscribe } from "../state.js";
import { report } from "./alerts.js";

const SHOWN = 20;
const TYPING_MS = 80;

/** @param {(changes: {workspaceId: string}) => void} choose @returns {HTMLElement} */
export function picker(choose) {
  const list = h("ul", { id: "workspace-list", role: "listbox", "aria-label": "Workspaces", hidden: true });
  const input = h("input", {
    role: "combobox", "aria-label": "Workspace", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
    autocomplete: "off", spellcheck: "false", placeholder: "Choose a workspace", value: state.workspaceId,
  });
  let found = [];
  let at = -1;
  let timer = 0;
  let control = new AbortController();

  const close = () => {
    clearTimeout(timer);
    control.abort();
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (workspace) => {
    close();
    input.value = workspace.id;
    choose({ workspaceId: workspace.id });
  };
  const point = (index) => {
    at = index;
    for (const [each, option] of [...list.children].entries()) option.setAttribute("aria-selected", String(each === at));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `workspace-${at}`);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const draw = (query) => {
    replace(list, found.map((workspace, index) => h("li", {
      id: `workspace-${index}`, role: "option", "aria-selected": "false",
      onpointerdown: (event) => { event.preventDefault(); take(workspace); },
    }, h("span", {}, workspace.id), h("span", { class: "muted small" }, workspace.agentName ?? ""))));
    if (!found.length) replace(list, h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "muted" }, query ? "No workspace has this in its id or its agent's name." : "There is no workspace."));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    point(found.length && query ? 0 : found.findIndex((workspace) => workspace.id === state.workspaceId));
  };
  const search = async (query) => {
    control.abort();
    control = new AbortController();
    try {
      const { workspaces = [] } = await call("WorkspaceService/ListWorkspaces", { pageSize: SHOWN, query }, { signal: control.signal });
      found = workspaces;
      draw(query);
    } catch (error) {
      if (!isAbort(error)) report(error);
    }
  };

  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => { if (list.hidden) search(""); });
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, TYPING_MS, input.value.trim()); });
  input.addEventListener("blur", () => { close(); input.value = state.workspaceId; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      close();
      input.value = state.workspaceId;
    }
    else if (event.key === "Enter" && found[at]) take(found[at]);
    else if (event.key === "ArrowDown" && list.hidden) search("");
    else if (event.key === "ArrowDown" && found.length) point((at + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) point((at - 1 + found.length) % found.length);
    else return;
    event.preventDefault();
  });
  subscribe((keys) => { if (keys.includes("workspaceId")) input.value = state.workspaceId; });
  return h("div", { class: "picker" }, icon("M7 12A5 5 0 107 2a5 5 0 000 10zM11 11l3 3"), input, list);
}
