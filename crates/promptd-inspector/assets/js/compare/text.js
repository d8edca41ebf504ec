// What differs between two texts, by lines and then by words, within bounds of time. It is how the page presents two prompts
// that no RPC compares (other profiles, other turns), and no rule of the service: what DiffPrompt compares is shown as it says.

const CONTEXT = 3; // equal lines around a place that differs
const MOST_STEPS = 1_000_000; // comparisons of one pair of texts, before the rest is shown as replaced
const MOST_WORDS = 400; // words of a line, before it is shown without the words that differ
const WORD = /\p{L}[\p{L}\p{N}_'’]*|\p{N}+|\s+|[^]/gu;

/**
 * Compares two texts, in the form of the contract's TextDiff.
 * @param {string} before
 * @param {string} after
 * @returns {{hunks: Array<object>, coarse: boolean}|undefined} undefined: they are equal
 */
export function textDiff(before, after) {
  if (before === after) return undefined;
  const [old, now] = [before, after].map((text) => (text === "" ? [] : text.split("\n")));
  const { steps, coarse } = align(old, now, MOST_STEPS);
  return { hunks: hunks(steps, old, now), coarse };
}

/**
 * The shortest way from one list to another: what both have, what goes and what comes (Myers' greedy algorithm).
 * @param {string[]} old
 * @param {string[]} now
 * @param {number} most comparisons
 * @returns {{steps: Array<[number, number]>, coarse: boolean}} pairs of indices; -1: the other list has it alone
 */
export function align(old, now, most) {
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) first += 1;
  let [endOld, endNow] = [old.length, now.length];
  while (endOld > first && endNow > first && old[endOld - 1] === now[endNow - 1]) { endOld -= 1; endNow -= 1; }
  const middle = shortest(old.slice(first, endOld), now.slice(first, endNow), most);
  const steps = [];
  for (let index = 0; index < first; index += 1) steps.push([index, index]);
  for (const [one, other] of middle ?? replaced(endOld - first, endNow - first)) steps.push([one < 0 ? -1 : one + first, other < 0 ? -1 : other + first]);
  for (let index = 0; endOld + index < old.length; index += 1) steps.push([endOld + index, endNow + index]);
  return { steps, coarse: middle === null };
}

function replaced(old, now) {
  return [...Array.from({ length: old }, (_, index) => [index, -1]), ...Array.from({ length: now }, (_, index) => [-1, index])];
}

function shortest(old, now, most) {
  const total = old.length + now.length;
  const far = new Map([[1, 0]]); // by diagonal: how far in `old`
  const trail = [];
  let left = most;
  for (let cost = 0; cost <= total; cost += 1) {
    trail.push(new Map(far));
    for (let diagonal = -cost; diagonal <= cost; diagonal += 2) {
      const down = diagonal === -cost || (diagonal !== cost && (far.get(diagonal - 1) ?? -1) < (far.get(diagonal + 1) ?? -1));
      let at = down ? far.get(diagonal + 1) : far.get(diagonal - 1) + 1;
      while (at < old.length && at - diagonal < now.length && old[at] === now[at - diagonal]) { at += 1; left -= 1; }
      far.set(diagonal, at);
      if (at >= old.length && at - diagonal >= now.length) return walk(trail, old.length, now.length);
    }
    left -= 3 * cost + 1;
    if (left < 0) return null;
  }
  return null;
}

function walk(trail, x, y) {
  const steps = [];
  for (let cost = trail.length - 1; cost >= 0; cost -= 1) {
    const far = trail[cost];
    const diagonal = x - y;
    const down = diagonal === -cost || (diagonal !== cost && (far.get(diagonal - 1) ?? -1) < (far.get(diagonal + 1) ?? -1));
    const from = down ? diagonal + 1 : diagonal - 1;
    const [beforeX, beforeY] = [far.get(from), far.get(from) - from];
    while (x > Math.max(beforeX, 0) && y > Math.max(beforeY, 0)) steps.push([(x -= 1), (y -= 1)]);
    if (cost > 0) steps.push(down ? [-1, (y -= 1)] : [(x -= 1), -1]);
  }
  return steps.reverse();
}

function hunks(steps, old, now) {
  const near = new Uint8Array(steps.length);
  steps.forEach(([one, other], index) => {
    if (one < 0 || other < 0) near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const found = [];
  let [lineOld, lineNow] = [1, 1];
  steps.forEach(([one, other], index) => {
    if (near[index] && !near[index - 1]) found.push({ beforeLine: lineOld, afterLine: lineNow, steps: [] });
    if (near[index]) found.at(-1).steps.push([one, other]);
    lineOld += one >= 0;
    lineNow += other >= 0;
  });
  return found.map(({ beforeLine, afterLine, steps: some }) => ({ beforeLine, afterLine, lines: lines(some, old, now) }));
}

// Lines that go and come at one place are paired in order, and their words compared.
function lines(steps, old, now) {
  const out = [];
  for (let index = 0; index < steps.length;) {
    const [one, other] = steps[index];
    if (one >= 0 && other >= 0) { out.push({ pieces: [{ text: old[one] }] }); index += 1; continue; }
    let end = index;
    while (end < steps.length && (steps[end][0] < 0 || steps[end][1] < 0)) end += 1;
    const run = steps.slice(index, end);
    const gone = run.filter(([each]) => each >= 0).map(([each]) => old[each]);
    const come = run.filter(([, each]) => each >= 0).map(([, each]) => now[each]);
    const pairs = gone.length === come.length ? gone.map((text, at) => words(text, come[at])) : [];
    gone.forEach((text, at) => out.push({ kind: "DIFF_LINE_KIND_REMOVED", pieces: pairs[at]?.[0] ?? [{ text }] }));
    come.forEach((text, at) => out.push({ kind: "DIFF_LINE_KIND_ADDED", pieces: pairs[at]?.[1] ?? [{ text }] }));
    index = end;
  }
  return out;
}

function words(before, after) {
  const [old, now] = [before, after].map((text) => text.match(WORD) ?? []);
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return undefined;
  const { steps } = align(old, now, MOST_STEPS);
  const alike = steps.reduce((sum, [one, other]) => sum + (one >= 0 && other >= 0 ? old[one].trim().length : 0), 0);
  if (alike * 4 < Math.max(before.length, after.length)) return undefined; // another line, not the same one changed
  return [pieces(steps.filter(([one]) => one >= 0), old, 0), pieces(steps.filter(([, other]) => other >= 0), now, 1)];
}

function pieces(steps, list, side) {
  const out = [];
  for (const step of steps) {
    const changed = step[0] < 0 || step[1] < 0;
    const last = out.at(-1);
    if (last && last.changed === changed) last.text += list[step[side]];
    else out.push({ text: list[step[side]], changed });
  }
  return out;
}
