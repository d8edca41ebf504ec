// One finding on a line: how bad, which, where, and what it says.

import { h } from "./dom.js";
import * as format from "./format.js";

const KINDS = { SEVERITY_ERROR: "bad", SEVERITY_WARNING: "warn", SEVERITY_INFO: "" };

/** @param {Array<object>} findings @param {{openFile: Function}} context @returns {HTMLElement} */
export function findingLines(findings, context) {
  return h("ul", { class: "finding-lines" }, findings.map((finding) => line(finding, context)));
}

function line({ severity, code, message, path, line = 0, column = 0, field }, { openFile }) {
  const place = path && [path, line > 0 && line, line > 0 && column > 0 && column].filter(Boolean).join(":");
  return h("li", { dataset: { finding: code } },
    h("span", { class: `tag ${KINDS[severity] ?? ""}` }, format.enumName(severity)), " ", h("code", {}, code), " ", h("bdi", {}, message), " ",
    place && h("button", { type: "button", class: "link mono", onclick: () => openFile({ path, line, column }) }, place),
    field && h("code", { class: "muted" }, field));
}
