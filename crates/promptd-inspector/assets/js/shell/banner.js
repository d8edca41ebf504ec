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
  new ResizeObserver(() => document.documentElement.style.setProperty("--banner-height", `${root.offsetHeight}px`)).observe(root);
  const draw = () => {
    const errors = (state.workspace?.findings ?? []).filter((each) => each.severity === "SEVERITY_ERROR");
    const gone = state.live === "gone";
    const text = JSON.stringify([gone, errors]);
    if (text === drawn) return;
    drawn = text;
    if (gone) return replace(root, h("div", { class: "banner" }, h("p", {}, h("strong", {}, "This workspace is gone."), " What the page shows of it is what it was; if it comes back, the page follows.")));
    if (!errors.length) return replace(root);
    const [first] = errors;
    const never = !state.workspace.revision;
    const place = [first.path, first.line, first.column].filter(Boolean).join(":");
    const said = never || !/last good/.test(first.message);
    const summary = never ? "This workspace has never loaded, so there is no prompt." : "Its last good version stays in use, if there was one.";
    replace(root, h("div", { class: "banner", dataset: { finding: first.code } },
      h("p", {}, h("strong", {}, place || first.code), ` ${first.message}. `, said && h("strong", {}, summary)),
      h("div", { class: "row" },
        first.path && h("button", { onclick: () => context.openFile(first) }, "Open the file"),
        h("button", { onclick: () => context.navigate("findings") }, errors.length > 1 ? `All ${counted(errors.length, "error")}` : "Findings")),
      excerpt(first)));
    context.say(`${place} is broken: ${first.message}. ${said ? summary : ""}`);
  };
  subscribe((keys) => {
    if (keys.includes("workspace") || keys.includes("live")) draw();
  });
}
