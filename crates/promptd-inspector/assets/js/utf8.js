// UTF-8 byte offsets of a JavaScript string, both ways. Built once a text, in one pass; a look-up reads at most one stride.

const STRIDE = 512; // indices from one noted byte offset to the next

/** Byte offsets of one text. A lone surrogate counts as U+FFFD, as in UTF-8 encoders. */
export class Utf8Index {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.offsets = new Uint32Array(Math.floor(text.length / STRIDE) + 1);
    let bytes = 0;
    let chars = 0;
    for (let index = 0; index < text.length; index += 1) {
      if (index % STRIDE === 0) this.offsets[index / STRIDE] = bytes;
      const more = width(text, index);
      bytes += more;
      if (more > 1 || text.charCodeAt(index) < 0x80) chars += 1;
    }
    if (text.length % STRIDE === 0) this.offsets[text.length / STRIDE] = bytes;
    /** @type {number} */ this.bytes = bytes;
    /** @type {number} in Unicode scalar values */ this.chars = chars;
  }

  /** The byte offset of an index. @param {number} index @returns {number} */
  toByte(index) {
    const end = Math.min(Math.max(index, 0), this.text.length);
    let at = end - (end % STRIDE);
    let bytes = this.offsets[at / STRIDE];
    for (; at < end; at += 1) bytes += width(this.text, at);
    return bytes;
  }

  /** The index of a byte offset; inside a character, that of the character. @param {number} byte @returns {number} */
  toIndex(byte) {
    if (byte >= this.bytes) return this.text.length;
    let low = 0;
    let high = this.offsets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle] <= byte) low = middle;
      else high = middle - 1;
    }
    let index = low * STRIDE;
    let bytes = this.offsets[low];
    while (index < this.text.length) {
      const step = isPair(this.text, index) ? 2 : 1;
      const next = bytes + width(this.text, index) + (step === 2 ? width(this.text, index + 1) : 0);
      if (next > byte) break;
      bytes = next;
      index += step;
    }
    return index;
  }
}

// A surrogate pair has four bytes: three are counted at its first half, one at its second.
function width(text, index) {
  const code = text.charCodeAt(index);
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code >= 0xdc00 && code < 0xe000 && index > 0 && isPair(text, index - 1) ? 1 : 3;
}

function isPair(text, index) {
  const first = text.charCodeAt(index);
  const second = text.charCodeAt(index + 1);
  return first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
}
