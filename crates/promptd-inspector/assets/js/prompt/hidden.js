// Characters that cannot be seen, or that turn the text around them. They stay what they are: a mark beside each says its name.

const NAMES = new Map(Object.entries({
  0x00: "NUL", 0x08: "BS", 0x0b: "VT", 0x0c: "FF", 0x0d: "CR", 0x1b: "ESC", 0x7f: "DEL", 0x85: "NEL", 0xa0: "NBSP", 0xad: "SHY", 0x34f: "CGJ", 0x61c: "ALM",
  0x180e: "MVS", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS",
  0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x202f: "NNBSP", 0x2060: "WJ", 0x2066: "LRI",
  0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x3000: "IDSP", 0xfeff: "BOM", 0xfffd: "U+FFFD",
}).map(([code, name]) => [Number(code), name]));

// All but tab, line feed, plain space, and the variation selectors that choose an emoji's look.
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffd\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Where hidden characters are. @param {string} text @returns {Generator<{index: number, length: number, name: string}>} */
export function* hiddenIn(text) {
  for (const match of text.matchAll(HIDDEN)) yield { index: match.index, length: match[0].length, name: nameOf(match[0].codePointAt(0)) };
}

/** How many there are, up to `most`. @param {string} text @param {number} most @returns {number} */
export function countHidden(text, most) {
  let count = 0;
  for (const _ of hiddenIn(text)) if (++count >= most) break;
  return count;
}

function nameOf(code) {
  return NAMES.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
