// What a turn is made of, as shapes that a form can be drawn from: from the JSON Schema of turns, and from the types of a
// profile's inputs.

/**
 * @typedef {object} Shape
 * @property {"text"|"number"|"flag"|"bool"|"choice"|"list"|"object"|"any"} kind `flag`: absent where it is off
 * @property {string} [type] how the profile names it
 * @property {string[]} [values] of a choice
 * @property {Shape} [item] of a list
 * @property {Field[]} [fields] of an object
 * @property {number} [min]
 * @property {number} [max]
 */
/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} description
 * @property {boolean} required
 * @property {boolean} canBeEmpty present and empty says something else than absent
 * @property {Shape} shape
 */

const OWN_PLACE = new Set(["profile", "inputs"]); // chosen in the header; drawn from the profile
const TOKEN = /\s*(`[^`]*`|[A-Za-z_][A-Za-z0-9_]*|[{}:,])/y;

let turnFields = null;

/** The turn's fields in snake_case, in the contract's order; read once. @returns {Promise<Field[]>} */
export function readTurnFields() {
  turnFields ??= fetch("/schema/turn.json").then((answer) => answer.json()).then((schema) => fieldsOf(schema, schema.$defs ?? {}).filter((field) => !OWN_PLACE.has(field.name)));
  return turnFields;
}

/** The fields of a profile's inputs. @param {Array<object>} inputs as GetProfile has them @returns {Field[]} */
export function inputFields(inputs) {
  return inputs.map(({ name, type, required = false, description = "", min, max }) =>
    ({ name, description, required, canBeEmpty: false, shape: { ...shapeOfType(type), type, min, max } }));
}

/** The shape of an input's type, such as `list of {key: string, content: string}`. @param {string} type @returns {Shape} */
function shapeOfType(type) {
  TOKEN.lastIndex = 0;
  const tokens = [];
  for (let match = TOKEN.exec(type); match; match = TOKEN.exec(type)) tokens.push(match[1]);
  return parseType(tokens);
}

function parseType(tokens) {
  const token = tokens.shift() ?? "any";
  if (token === "list") {
    tokens.shift(); // of
    return { kind: "list", item: parseType(tokens) };
  }
  if (token === "{") return parseObject(tokens);
  if (token.startsWith("`")) {
    const values = [token.slice(1, -1)];
    while (tokens[0] === "or") values.push(tokens.splice(0, 2)[1].slice(1, -1));
    return { kind: "choice", values };
  }
  return { kind: { string: "text", time: "text", int: "number", number: "number", bool: "bool" }[token] ?? "any", type: token };
}

function parseObject(tokens) {
  const fields = [];
  while (tokens.length && tokens[0] !== "}") {
    const name = tokens.shift();
    tokens.shift(); // :
    fields.push({ name, description: "", required: false, canBeEmpty: false, shape: parseType(tokens) });
    if (tokens[0] === ",") tokens.shift();
  }
  tokens.shift();
  return { kind: "object", fields };
}

function fieldsOf(schema, defs) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).filter(([name]) => name === name.toLowerCase()).map(([name, property]) => {
    const description = property.description ?? "";
    return { name, description, required: required.has(name), canBeEmpty: /present and empty/i.test(description), shape: shapeOfSchema(property, defs) };
  });
}

function shapeOfSchema(property, defs) {
  const schema = resolve(property, defs);
  const types = [schema.type].flat();
  const values = schema.enum?.filter((value) => value);
  if (values) return { kind: "choice", values: values.filter((value) => !value.endsWith("_UNSPECIFIED")) };
  if (types.includes("boolean")) return { kind: "flag" };
  if (types.includes("integer")) return { kind: "number", min: schema.minimum };
  if (types.includes("array")) return { kind: "list", item: shapeOfSchema(schema.items, defs) };
  if (types.includes("object")) return schema.properties ? { kind: "object", fields: fieldsOf(schema, defs) } : { kind: "any" };
  return { kind: "text" };
}

function resolve(property, defs) {
  const reference = property.$ref ?? property.anyOf?.find((each) => each.$ref)?.$ref;
  return reference ? defs[reference.split("/").at(-1)] ?? {} : property;
}
