// What differs between a section's text before and after.

/**
 * The stretch of a part that is new; null where only what the service works out differs, such as the clock.
 * @param {string} before
 * @param {string} after
 * @param {import("./account.js").Entry} entry
 * @param {import("./account.js").Part} part
 * @returns {{start: number, end: number}|null} indices in the part
 */
export function changeOf(before, after, entry, part) {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let same = 0;
  while (same < shorter - start && before.charCodeAt(before.length - 1 - same) === after.charCodeAt(after.length - 1 - same)) same += 1;
  const end = after.length - same;
  return before !== "" && isWorkedOut(entry, part, start, end) ? null : { start, end };
}

function isWorkedOut(entry, part, start, end) {
  const [from, to] = [entry.utf8.toByte(part.start + start), entry.utf8.toByte(part.start + Math.max(end, start + 1))];
  const spans = (part.section?.spans ?? []).filter((span) => (span.byteStart ?? 0) < to && (span.byteEnd ?? 0) > from);
  return spans.length > 0 && spans.every((span) => span.origin?.kind === "ORIGIN_KIND_FACT");
}
