// The panel with the call as a program, ready to be copied and run.

import { copyButton } from "../copy.js";
import { h, replace } from "../dom.js";
import { shortened } from "../lines.js";
import { kept, keep } from "../state.js";
import { SNIPPETS } from "./snippets.js";

const CHOSEN = "promptd.sent.snippet";
const ADDRESS = "promptd.sent.address."; // one for each snippet, since they need other addresses

/** @param {object} context of the view @returns {{element: HTMLElement, show: (request: object) => void}} */
export function callPanel(context) {
  let chosen = SNIPPETS.find(({ id }) => id === kept(CHOSEN, "")) ?? SNIPPETS[0];
  let request = {};
  let needsToken = false;
  const tabs = h("div", { class: "row", role: "group", "aria-label": "Language" });
  const label = h("span", { class: "small muted" });
  const address = h("input", { spellcheck: "false", autocomplete: "off", oninput: () => { keep(ADDRESS + chosen.id, address.value); draw(); } });
  const text = h("pre", { class: "text snippet", tabindex: 0, "aria-label": "The call" });
  const written = () => chosen.write(request, address.value.trim().replace(/\/+$/, ""), needsToken);
  const draw = () => {
    replace(text, shortened(written()));
    text.dataset.snippet = chosen.id;
  };
  const pick = (next) => {
    chosen = next;
    keep(CHOSEN, chosen.id);
    replace(label, chosen.addressLabel);
    address.value = kept(ADDRESS + chosen.id, "") || chosen.address(new URL(location.href));
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.language === chosen.id));
    draw();
  };
  replace(tabs, SNIPPETS.map((each) => h("button", { type: "button", dataset: { language: each.id }, onclick: () => pick(each) }, each.title)));
  pick(chosen);
  fetch("/info.json").then((answer) => answer.json()).then((info) => { needsToken = info.needsToken === true; draw(); }, context.report);
  const element = h("section", { class: "card call", "aria-label": "The same call from a program" },
    h("div", { class: "detail-head" }, h("div", { class: "row spread" }, h("h2", {}, "The same call"), h("span", { class: "row" }, tabs, copyButton("call", written, context.say))),
      h("label", { class: "stack-tight" }, label, address)), text);
  return { element, show: (next) => { request = next; draw(); } };
}
