// Says so when the newest save is broken, on every view, until a save is good again.

import { h, replace } from "../dom.js";
import { excerpt } from "../excerpt.js";
import { counted } from "../format.js";
import { state, subscribe } from "../state.js";

/**
 * Draws the banner; it follows the state.
 * @param {HTMLElement} root
 * @param {{openFile: (place: object) => void, navigate: (view: string) => void, say: (text: string) => void}} context
 */
export function drawBanner(root, context) {
  let drawn = "";
  const draw = () => {
    const errors = (state.workspace?.findings ?? []).filter((each) => each.severity === "SEVERITY_ERROR");
    const text = JSON.stringify(errors);
    if (text === drawn) return;
    drawn = text;
    if (!errors.length) return replace(root);
    const [first] = errors;
    const never = !state.workspace.revision;
    const place = [first.path, first.line, first.column].filter(Boolean).join(":");
    const summary = never ? "This workspace has never loaded, so there is no prompt." : "The last good version is in use.";
    replace(root, h("div", { class: "banner", dataset: { finding: first.code } },
      h("div", { class: "row" }, h("strong", {}, place || first.code), h("span", {}, `${first.message}.`), h("span", {}, h("strong", {}, summary))),
      excerpt(first),
      h("div", { class: "row" },
        first.path && h("button", { onclick: () => context.openFile(first) }, "Open the file"),
        h("button", { onclick: () => context.navigate("findings") }, errors.length > 1 ? `All ${counted(errors.length, "error")}` : "Findings"))));
    context.say(`${place} is broken: ${first.message}. ${summary}`);
  };
  subscribe((keys) => {
    if (keys.includes("workspace")) draw();
  });
}
