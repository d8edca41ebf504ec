/** The known name that an unknown one is most likely meant to be; undefined: none is near. @internal */
export function nearest(unknown: string, known: Iterable<string>): string | undefined {
  const plain = (name: string) => name.replaceAll(/[_-]/g, "").toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(unknown.length / 3)) + 1;
  for (const name of known) {
    const edits = distance(plain(unknown), plain(name));
    if (edits < least) [best, least] = [name, edits];
  }
  return best;
}

/** How many characters must be added, taken, changed or swapped with the next to make one of the other. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swap = swapped ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(change, swap, row[j]! + 1, next[j - 1]! + 1));
    }
    [before, row] = [row, next];
  }
  return row[to.length]!;
}
