// What a span says about its bytes, in words, and the place that can be opened for it.

import { bytes, number } from "../format.js";

const KINDS = {
  ORIGIN_KIND_FILE: "file",
  ORIGIN_KIND_TURN: "field of the turn",
  ORIGIN_KIND_INPUT: "input of the turn",
  ORIGIN_KIND_SETTING: "setting",
  ORIGIN_KIND_PROFILE: "profile",
  ORIGIN_KIND_FACT: "fact that the service knows",
  ORIGIN_KIND_SERVICE: "the service's own words",
};

const HOWS = {
  HOW_VERBATIM: "verbatim",
  HOW_CUT: "verbatim, of a text that was cut",
  HOW_ESCAPED: "escaped by a template",
  HOW_CLEANED: "cleaned: line ends, control or hidden characters, white space",
  HOW_TEMPLATE: "written by the template",
  HOW_MARKER: "marker",
};

/**
 * @param {object} span
 * @returns {{kind: string, name: string, how: string, place: import("../files.js").Place|null, field: string}} `field`: of the turn
 */
export function originOf(span) {
  const { kind = "", name = "", profile = "" } = span.origin ?? {};
  const turned = kind === "ORIGIN_KIND_TURN" || kind === "ORIGIN_KIND_INPUT";
  return { kind: KINDS[kind] ?? "unknown origin", name: kind === "ORIGIN_KIND_PROFILE" ? `${profile} · ${name}` : name || hiddenLayer(span), how: howOf(span), place: placeOf(span), field: turned ? fieldOf(name) : "" };
}

// Of a file of a layer that the caller may not see only the layer's number is known.
function hiddenLayer(span) {
  return span.source?.layer ? `of layer ${span.source.layer}` : "";
}

/** What is between two sections. */
export const SEPARATOR = { kind: "separator", name: "between two sections", how: "written by the profile", place: null, field: "" };

function howOf(span) {
  const size = Number(span.sourceEnd ?? 0) - Number(span.sourceStart ?? 0);
  if (span.how === "HOW_MARKER") return size ? `stands for ${bytes(size)} that were left out` : "stands for what was left out";
  if (span.how === "HOW_TEMPLATE" && span.origin?.kind === "ORIGIN_KIND_FACT") return "worked out";
  if (span.how === "HOW_TEMPLATE" && span.origin?.kind === "ORIGIN_KIND_SERVICE") return "";
  return HOWS[span.how] ?? "";
}

function placeOf(span) {
  const { kind, name, profile } = span.origin ?? {};
  const path = span.source?.path;
  if (kind === "ORIGIN_KIND_PROFILE" && profile) return { profile, section: name };
  if (!path) return null;
  if (kind !== "ORIGIN_KIND_FILE") return { path, setting: name };
  return { path, sha256: span.source.sha256, range: [Number(span.sourceStart ?? 0), Number(span.sourceEnd ?? 0)] };
}

// An input's name begins with `inputs.`, a field's with `turn.`.
function fieldOf(name) {
  return name.startsWith("turn.") ? name : `turn.${name}`;
}

/** A span's size, for people. @param {object} span @returns {string} */
export function sizeOf(span) {
  const count = (span.byteEnd ?? 0) - (span.byteStart ?? 0);
  return `${number(count)} ${count === 1 ? "byte" : "bytes"}`;
}
