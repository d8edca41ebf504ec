// A turn as JSON: what is wrong with it, and where.

/** What keeps a text from being JSON, with the line and column; null: nothing. @param {string} text @returns {string|null} */
export function problemOf(text) {
  try {
    JSON.parse(text);
    return null;
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
