// Numbers, sizes, times and hashes, for people.

const numbers = new Intl.NumberFormat("en");
const times = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const UNITS = [["day", 86_400], ["hour", 3_600], ["min", 60], ["s", 1]];

/** A whole number with its thousands set apart. @param {number|string} [value] @returns {string} */
export function number(value) {
  return numbers.format(Number(value ?? 0));
}

/** `1 section`, `2 sections`. @param {number|string} count @param {string} one @param {string} [many] @returns {string} */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${Number(count) === 1 ? one : many}`;
}

/** Bytes in B, KB or MB. @param {number|string} [value] @returns {string} */
export function bytes(value) {
  const count = Number(value ?? 0);
  if (count < 1000) return `${count} B`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} KB` : `${(count / 1_000_000).toFixed(2)} MB`;
}

/** A part of a whole, as a percentage. @param {number} part @param {number} whole @returns {string} */
export function share(part, whole) {
  if (!whole || !part) return "0 %";
  const percent = (100 * part) / whole;
  return percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

/** A point in time, in full. @param {string} [time] in RFC 3339 @returns {string} */
export function time(time) {
  return time ? times.format(new Date(time)) : "";
}

/** How long ago a time was. @param {string} [time] in RFC 3339 @param {number} [now] in milliseconds @returns {string} */
export function age(time, now = Date.now()) {
  if (!time) return "";
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  const count = Math.floor(seconds / length);
  if (unit === "s" && count < 2) return "just now";
  return `${count} ${unit === "day" && count !== 1 ? "days" : unit === "hour" && count !== 1 ? "hours" : unit} ago`;
}

/** The beginning of a hash. @param {string} [hash] @returns {string} */
export function short(hash) {
  return (hash ?? "").slice(0, 8);
}

/** An enum's value without its prefix, in lower case: `OUTCOME_TRUNCATED` → `truncated`. @param {string} [value] @returns {string} */
export function enumName(value) {
  return (value ?? "").split("_").slice(1).join(" ").toLowerCase();
}
