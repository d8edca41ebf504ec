// Buttons that copy a text.

import { h, icon, replace } from "./dom.js";

const SAID_MS = 1_500;
const SHEETS = "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z";
const TICK = "M3 8.5l3.5 3.5L13 4.5";

/**
 * A button that copies a text, exactly.
 * @param {string} name what it copies: `fragment`
 * @param {() => string} text
 * @param {(text: string) => void} say tells screen readers
 * @returns {HTMLElement}
 */
export function copyButton(name, text, say) {
  const label = h("span", {}, `Copy ${name}`);
  const mark = h("span", { class: "copy-mark" }, icon(SHEETS));
  const show = (path, words) => {
    replace(mark, icon(path));
    replace(label, words);
  };
  const copied = async () => {
    const done = await copy(text());
    show(done ? TICK : SHEETS, done ? "Copied" : "The browser refused to copy");
    say(done ? `Copied the ${name}.` : "The browser refused to copy.");
    setTimeout(show, SAID_MS, SHEETS, `Copy ${name}`);
  };
  return h("button", { type: "button", class: "copy", dataset: { copy: name }, onclick: copied }, mark, label);
}

// Beyond loopback without TLS a browser has no clipboard for pages; what is selected it still copies.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const held = document.activeElement;
    const area = h("textarea", { class: "unseen", value: text, "aria-hidden": "true", tabindex: -1 });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    held?.focus();
    return done;
  }
}
