// A turn as JSON: what is wrong with it, and where.

const HALF = /(?<!\\)(?:\\\\)*\\ud[89a-f]/; // JSON.stringify writes halves of surrogate pairs as escapes, and nothing else of that range

/** What keeps a text from being JSON, with the line and column; null: nothing. @param {string} text @returns {string|null} */
export function problemOf(text) {
  try {
    const whole = JSON.stringify(JSON.parse(text));
    return HALF.test(whole) ? "It holds half of a character (a lone surrogate, such as \\ud800), which is not text." : null;
  } catch (error) {
    const what = error.message.replace(/^JSON\.parse: /, "").replace(/ in JSON at position.*| at line \d+ column \d+.*|, "?\.\.\..*|, ".*is not valid JSON$/s, "");
    const place = placeOf(error.message, text);
    return place ? `Line ${place.line}, column ${place.column}: ${what}` : what;
  }
}

function placeOf(message, text) {
  const named = /line (\d+) column (\d+)/.exec(message);
  if (named) return { line: Number(named[1]), column: Number(named[2]) };
  const at = /position (\d+)/.exec(message);
  const index = at ? Number(at[1]) : text.length;
  const before = text.slice(0, index);
  return { line: before.split("\n").length, column: index - before.lastIndexOf("\n") };
}
