// Files that try to be more than text.
const LONG = "a".repeat(100_000);

export const HOSTILE = {
  "AGENTS.md": [
    "<script>window.taken = 1</script><img src=x onerror='window.taken = 2'>",
    "[link](javascript:window.taken=3) <a href='javascript:window.taken=4'>x</a>",
    "</div></main><style>* { display: none }</style><base href='http://evil.example/'>",
    "bidi \u202e right to left \u202c \u2066 isolate \u2069 \u200b zero \u00ad soft \ufeff mark",
    "tabs\tand\u00a0spaces\u3000 and \u0301combining e\u0301, flags \ud83c\udde9\ud83c\uddea, family \ud83d\udc69\u200d\ud83d\udc67",
    "&lt;not markup&gt; &amp;amp; \\u0041 {{ 7 * 7 }} ${window.taken = 5}",
  ].join("\n"),
  "SOUL.md": `One line of a hundred thousand characters: ${LONG}\n`,
  "IDENTITY.md": "Name: <b>Eve</b>\n\n\n\nblank lines above\r\nand a line end of another kind\n",
  "workspace.yaml": "context: {max_chars_per_file: 200000, max_chars_total: 400000}\nagent: {name: '<i>Mallory</i>'}\n",
  "skills/x/SKILL.md": "---\nname: x\ndescription: '<script>window.taken = 6</script> \u202e'\n---\nDo nothing.\n",
};

// A prompt of about a million bytes in all, in lines of usual length.
const LINE = "Say what you know, name the berth, and never guess a tide; \u00e4nderungen gehen \u00fcber Funk.\n";
export const LARGE = {
  "AGENTS.md": LINE.repeat(5_000),
  "SOUL.md": LINE.repeat(5_000),
  "workspace.yaml": "context: {max_chars_per_file: 500000, max_chars_total: 1000000}\n",
};
