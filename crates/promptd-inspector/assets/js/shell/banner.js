// Says so when the newest save is broken.

import { h, replace } from "../dom.js";
import { state, subscribe } from "../state.js";

/** Draws the banner; it follows the state. @param {HTMLElement} root */
export function drawBanner(root) {
  subscribe((keys) => {
    if (!keys.includes("workspace")) return;
    const errors = (state.workspace?.findings ?? []).filter((each) => each.severity === "SEVERITY_ERROR");
    replace(root, errors.map((each) => h("div", { class: "banner" }, h("strong", {}, each.path), " ", each.message)));
  });
}
