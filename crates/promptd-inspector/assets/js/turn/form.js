// A form of fields: every control changes one place of a value, and what is left empty is left out.

import { h, icon, replace } from "../dom.js";
import { problemOf } from "./json.js";

const ONE_LINE = /(^|_)(id|name|zone|now|title|source|unit|encoding|type|time|at|color|key|provider|endpoint|uid|cron|from|account|role|directory)$/;
const MOST_ITEMS = 50; // of a list that are drawn; the rest is edited as JSON
const REMOVE = "M4 4l8 8M12 4l-8 8";
const EXAMPLES = { now: "2026-03-01T02:30:00Z", time_zone: "Europe/Berlin", time: "2026-03-01T02:30:00Z", working_directory: "services/api" };

/**
 * @typedef {object} Form
 * @property {(path: Array<string|number>) => any} get
 * @property {(path: Array<string|number>, value: any) => void} set `undefined` takes it away
 * @property {() => void} redraw after a list has another length
 * @property {Set<string>} open the names of groups that are open
 */

/** Draws fields. @param {Form} form @param {import("./shapes.js").Field[]} fields @param {Array<string|number>} path @returns {HTMLElement[]} */
export function drawFields(form, fields, path) {
  return fields.map((field) => drawField(form, field, [...path, field.name]));
}

/** A place as the service names it: `turn.knowledge[3].content`. @param {Array<string|number>} path @returns {string} */
export function nameOf(path) {
  return path.reduce((name, part) => (typeof part === "number" ? `${name}[${part}]` : `${name}.${part}`), "turn");
}

/** A value with one place changed; what is empty then is left out. @param {any} value @param {Array<string|number>} path @param {any} next @returns {any} */
export function changed(value, path, next) {
  if (path.length === 0) return next;
  const [key, ...rest] = path;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const inner = changed(copy[key] ?? (typeof rest[0] === "number" ? [] : {}), rest, next);
  const gone = inner === undefined || (rest.length > 0 && typeof key === "string" && isEmpty(inner));
  if (!gone) copy[key] = inner;
  else if (Array.isArray(copy)) copy.splice(key, 1);
  else delete copy[key];
  return copy;
}

function isEmpty(value) {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function drawField(form, field, path) {
  const { shape } = field;
  if (shape.kind === "object" || shape.kind === "list") return drawGroup(form, field, path);
  const id = `field-${nameOf(path)}`;
  const control = drawControl(form, field, path, id);
  const label = h("label", { for: id }, titleOf(field));
  const error = h("p", { class: "field-error", id: `${id}-error` });
  const parts = shape.kind === "flag" ? [h("div", { class: "row" }, control, label)] : [label, control];
  return h("div", { class: "field", dataset: { field: nameOf(path), help: helpOf(field) } }, parts, field.canBeEmpty && drawEmpty(form, path, "Empty: none"), error);
}

function drawControl(form, { name, shape, description }, path, id) {
  const value = form.get(path);
  const shared = { id, "aria-description": description, "aria-describedby": `${id}-error` };
  const given = (event) => form.set(path, event.target.value === "" ? undefined : event.target.value);
  switch (shape.kind) {
    case "flag":
      return h("input", { ...shared, type: "checkbox", checked: value === true, onchange: (event) => form.set(path, event.target.checked || undefined) });
    case "bool":
      return select(shared, [["", "not given"], ["true", "true"], ["false", "false"]], value === undefined ? "" : String(value),
        (text) => form.set(path, text === "" ? undefined : text === "true"));
    case "choice":
      return select(shared, [["", "not given"], ...shape.values.map((each) => [each, valueName(each, name)])], value ?? "", (text) => form.set(path, text || undefined));
    case "number":
      return h("input", { ...shared, type: "number", step: "any", min: shape.min, max: shape.max, value: value ?? "", oninput: (event) => form.set(path, event.target.value === "" ? undefined : Number(event.target.value)) });
    case "any":
      return jsonControl(form, path, shared, shape);
    default:
      return ONE_LINE.test(name) || shape.type === "time"
        ? h("input", { ...shared, type: "text", autocomplete: "off", spellcheck: "false", placeholder: exampleOf(name, shape.type), value: value ?? "", oninput: given })
        : h("textarea", { ...shared, rows: 1, value: value ?? "", oninput: given });
  }
}

function select(shared, options, value, choose) {
  return h("select", { ...shared, onchange: (event) => choose(event.target.value) }, options.map(([each, text]) => h("option", { value: each, selected: each === value }, text)));
}

// Any value: as JSON. A mistake stays here and changes nothing.
function jsonControl(form, path, shared, shape) {
  const value = form.get(path);
  return h("textarea", { ...shared, class: "mono", rows: 1, spellcheck: "false", placeholder: shape.type && shape.type !== "any" ? shape.type : "JSON", value: value === undefined ? "" : JSON.stringify(value), oninput: (event) => {
    const { target } = event;
    const problem = target.value.trim() === "" ? null : problemOf(target.value);
    showError(target.closest(".field"), problem ?? "");
    if (!problem) form.set(path, target.value.trim() === "" ? undefined : JSON.parse(target.value));
  } });
}

/** Shows an error at a field; empty: none. @param {Element} field @param {string} text */
export function showError(field, text) {
  const control = field.querySelector("input, select, textarea");
  replace(field.querySelector(":scope > .field-error"), text);
  if (text) control?.setAttribute("aria-invalid", "true");
  else control?.removeAttribute("aria-invalid");
  for (let group = field.closest("details"); text && group; group = group.parentElement.closest("details")) group.open = true;
}

// Whether a place is there and empty, which some fields take for something else than not there.
function drawEmpty(form, path, text) {
  const value = form.get(path);
  const empty = value === "" || isEmpty(value);
  return h("label", { class: "row small muted can-be-empty" }, h("input", { type: "checkbox", checked: empty, onchange: (event) => {
    const object = typeof form.get(path) === "object" || path.at(-1) === "allowlist";
    form.set(path, event.target.checked ? (object ? {} : "") : undefined);
    form.redraw();
  } }), text);
}

function drawGroup(form, field, path) {
  const name = nameOf(path);
  const value = form.get(path);
  const list = field.shape.kind === "list";
  const fits = value === undefined || value === null || (typeof value === "object" && Array.isArray(value) === list);
  const count = !fits ? 1 : list ? value?.length ?? 0 : Object.keys(value ?? {}).length;
  const details = h("details", { open: form.open.has(name) || (count > 0 && path.length < 3), ontoggle: () => form.open[details.open ? "add" : "delete"](name) },
    h("summary", {}, titleOf(field), count > 0 && h("span", { class: "tag" }, list && fits ? count : "set")),
    h("div", { class: "group" },
      field.canBeEmpty && drawEmpty(form, path, "Empty: nothing"),
      !fits ? h("p", { class: "small" }, `It must be ${list ? "a list" : "an object"}: edit it as JSON.`)
        : list ? drawItems(form, field.shape.item, path, value ?? []) : drawFields(form, field.shape.fields, path)));
  return h("div", { class: "field", dataset: { field: name, help: helpOf(field) } }, details, h("p", { class: "field-error" }));
}

function drawItems(form, item, path, items) {
  const change = (next) => {
    form.set(path, next.length ? next : undefined);
    form.open.add(nameOf(path));
    form.redraw();
  };
  const blank = { object: {}, list: [], text: "", number: 0, bool: false, flag: false, choice: item.values?.[0] }[item.kind] ?? "";
  return [
    items.slice(0, MOST_ITEMS).map((_, index) => h("div", { class: "item" },
      item.kind === "object" ? h("div", { class: "group", dataset: { field: nameOf([...path, index]) } }, drawFields(form, item.fields, [...path, index]))
        : drawField(keepsEmpty(form), { name: String(index + 1), description: "", shape: item }, [...path, index]),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove ${index + 1} of ${path.at(-1)}`, onclick: () => change(items.filter((__, each) => each !== index)) }, icon(REMOVE)))),
    items.length > MOST_ITEMS && h("p", { class: "muted small" }, `${items.length - MOST_ITEMS} more: edit them as JSON.`),
    h("button", { type: "button", class: "quiet add", dataset: { add: nameOf(path) }, onclick: () => change([...(form.get(path) ?? []), blank]) }, icon("M8 3v10M3 8h10"), "Add"),
  ];
}

// An item of a list that is emptied stays an item.
function keepsEmpty(form) {
  return { ...form, set: (path, value) => form.set(path, value ?? "") };
}

// An enum's value without its prefix: `RESPONSE_FORMAT_JSON_OBJECT` of response_format → `json object`.
function valueName(value, field) {
  const at = value.indexOf(`${field.toUpperCase()}_`);
  return at < 0 ? value : value.slice(at + field.length + 1).replaceAll("_", " ").toLowerCase();
}

function exampleOf(name, type) {
  const example = EXAMPLES[name] ?? EXAMPLES[type];
  return example && `such as ${example}`;
}

function titleOf({ name, required }) {
  const words = name.replaceAll("_", " ");
  return `${words[0].toUpperCase()}${words.slice(1)}${required ? " (required)" : ""}`;
}

function helpOf({ description, shape }) {
  return [description, shape.type && `Type: ${shape.type}.`].filter(Boolean).join(" ");
}
