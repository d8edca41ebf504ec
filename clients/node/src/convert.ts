/** Between plain values and messages, by the contract's own descriptors. */
import { create, ScalarType, type DescEnum, type DescField, type DescMessage, type JsonObject, type Message, type MessageShape } from "@bufbuild/protobuf";
import { StructSchema, timestampDate, timestampFromDate, TimestampSchema, type Timestamp } from "@bufbuild/protobuf/wkt";

import { refused, type Violation } from "./errors.js";
import { nearest } from "./nearest.js";
import type { Shown } from "./plain.js";

const STRUCT = StructSchema.typeName;
const TIMESTAMP = TimestampSchema.typeName;

/**
 * The message that plain values mean. Throws `invalid_argument` with every fault: unknown names, with the nearest known one,
 * and values of a wrong type. `named` is how the caller named a field. @internal
 */
export function toMessage<S extends DescMessage>(
  schema: S, given: object, call: string, named = (path: string) => path,
): MessageShape<S> {
  const faults: Violation[] = [];
  const made = message(schema, given, "", faults);
  if (faults.length) throw refused(call, faults.map((fault) => ({ ...fault, field: named(fault.field) })));
  return made as MessageShape<S>;
}

/** A fault for each name of `given` that is none of `known`. @internal */
export function unknownNames(given: object, known: readonly string[], owner: string, path = ""): Violation[] {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  return unknown.map((name) => {
    const meant = nearest(name, known);
    const hint = meant ? `did you mean \`${meant}\`?` : `known are ${known.join(", ")}`;
    return { field: join(path, name), description: `is not a field of ${owner}; ${hint}` };
  });
}

function message(schema: DescMessage, given: unknown, path: string, faults: Violation[]): Message | undefined {
  if (!isPlainObject(given)) return wrong(path, "an object", given, faults);
  faults.push(...unknownNames(given, schema.fields.map((field) => field.localName), schema.name, path));
  const made: Record<string, unknown> = {};
  for (const field of schema.fields) {
    const value = given[field.localName];
    if (value === undefined) continue;
    const converted = valueOf(field, value, join(path, field.localName), faults);
    if (field.oneof) made[field.oneof.localName] = { case: field.localName, value: converted };
    else made[field.localName] = converted;
  }
  // What has faults is not made: its values are of the wrong types.
  return faults.length ? undefined : create(schema, made);
}

function valueOf(field: DescField, value: unknown, path: string, faults: Violation[]): unknown {
  switch (field.fieldKind) {
    case "scalar": return scalar(field.scalar, value, path, faults);
    case "enum": return enumValue(field.enum, value, path, faults);
    case "message": return single(field.message, value, path, faults);
    case "map": return wrong(path, "left out: this client cannot send maps", value, faults);
    case "list": break;
  }
  if (!Array.isArray(value)) return wrong(path, "an array", value, faults);
  return value.map((item, index) => {
    const at = `${path}[${index}]`;
    switch (field.listKind) {
      case "scalar": return scalar(field.scalar, item, at, faults);
      case "enum": return enumValue(field.enum, item, at, faults);
      case "message": return single(field.message, item, at, faults);
    }
  });
}

function single(schema: DescMessage, value: unknown, path: string, faults: Violation[]): unknown {
  if (schema.typeName === STRUCT)
    return isPlainObject(value) ? json(value, path, faults) : wrong(path, "an object", value, faults);
  if (schema.typeName !== TIMESTAMP) return message(schema, value, path, faults);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return timestampFromDate(value);
  return wrong(path, "a valid Date, such as new Date()", value, faults);
}

function scalar(type: ScalarType, value: unknown, path: string, faults: Violation[]): unknown {
  switch (type) {
    case ScalarType.STRING: return typeof value === "string" ? value : wrong(path, "text", value, faults);
    case ScalarType.BOOL: return typeof value === "boolean" ? value : wrong(path, "true or false", value, faults);
    case ScalarType.BYTES: return value instanceof Uint8Array ? value : wrong(path, "a Uint8Array", value, faults);
    case ScalarType.FLOAT: case ScalarType.DOUBLE:
      return typeof value === "number" && Number.isFinite(value) ? value : wrong(path, "a finite number", value, faults);
    case ScalarType.UINT64:
      return whole(value, 0, Number.MAX_SAFE_INTEGER) ? BigInt(value) : wrong(path, "a whole number, 0 or more", value, faults);
    case ScalarType.UINT32:
      return whole(value, 0, 2 ** 32 - 1) ? value : wrong(path, "a whole number from 0 to 4294967295", value, faults);
    default:
      return whole(value, -(2 ** 31), 2 ** 31 - 1) ? value : wrong(path, "a whole number of 32 bits", value, faults);
  }
}

const whole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

function enumValue(type: DescEnum, value: unknown, path: string, faults: Violation[]): unknown {
  const known = type.values.filter((each) => each.number !== 0);
  const found = known.find((each) => shortName(each.localName) === value);
  if (found) return found.number;
  const names = known.map((each) => shortName(each.localName));
  const meant = typeof value === "string" ? nearest(value, names) : undefined;
  const one = names.map((name) => JSON.stringify(name)).join(", ");
  wrong(path, `one of ${one}`, typeof value === "string" ? JSON.stringify(value) : value, faults, meant);
}

const shortName = (name: string) => name.toLowerCase().replaceAll("_", "-");

/** A value of JSON, whose faults would else be lost or changed on the way. */
function json(value: unknown, path: string, faults: Violation[]): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "bigint" || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    return void faults.push({ field: path, description: `is not exact as a number (${value}); send it as text` });
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item, index) => json(item, `${path}[${index}]`, faults));
  if (!isPlainObject(value)) return wrong(path, "JSON: text, a number, true, false, null, an array or an object", value, faults);
  const made: JsonObject = {};
  for (const [key, item] of Object.entries(value))
    if (item !== undefined) made[key] = json(item, join(path, key), faults) as JsonObject[string];
  return made;
}

function wrong(path: string, expected: string, value: unknown, faults: Violation[], meant?: string): undefined {
  const hint = meant ? `; did you mean "${meant}"?` : "";
  faults.push({ field: path, description: `must be ${expected}, not ${described(value)}${hint}` });
}

/** A value in a message for people: numbers as they are, but no texts, which may be secret. */
function described(value: unknown): string {
  if (typeof value === "string") return value.startsWith('"') && value.length < 40 ? value : "text";
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  return typeof value === "object" && value !== null ? "an object" : typeof value === "function" ? "a function" : String(value);
}

const join = (path: string, name: string) => (path ? `${path}.${name}` : name);

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(value instanceof Date) && !(value instanceof Uint8Array) && !(value instanceof Map) && !(value instanceof Set);
}

/** A message as plain values. @internal */
export function toPlain<S extends DescMessage>(schema: S, from: MessageShape<S>): Shown<MessageShape<S>> {
  return plain(schema, from) as Shown<MessageShape<S>>;
}

function plain(schema: DescMessage, from: Message): unknown {
  if (schema.typeName === TIMESTAMP) return timestampDate(from as Timestamp);
  if (schema.typeName === STRUCT) return from;
  const made: Record<string, unknown> = {};
  for (const field of schema.fields) {
    const value = (from as unknown as Record<string, unknown>)[field.localName];
    if (value !== undefined) made[field.localName] = plainValue(field, value);
  }
  return made;
}

function plainValue(field: DescField, value: unknown): unknown {
  const one = (item: unknown) => {
    if (field.message) return plain(field.message, item as Message);
    if (field.enum) return shortName(field.enum.value[item as number]?.localName ?? `unknown-${item}`);
    return typeof item === "bigint" ? Number(item) : item;
  };
  return field.fieldKind === "list" ? (value as unknown[]).map(one) : one(value);
}
