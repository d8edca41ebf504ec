// Light, dark, or as the system has it.

import { h, icon, replace } from "../dom.js";
import { keep, kept } from "../state.js";

const KEY = "promptd.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const ICONS = {
  system: "M2 3h12v8H2zM6 14h4",
  light: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  dark: "M13.5 10A6 6 0 016 2.5a6 6 0 107.5 7.5z",
};

let theme = "system";

/** Sets the kept theme, before anything is drawn. */
export function restoreTheme() {
  apply(kept(KEY, "system"));
}

/** The button that goes through the themes. @returns {HTMLElement} */
export function themeButton() {
  const button = h("button", { class: "quiet", onclick: () => {
    apply(NEXT[theme]);
    keep(KEY, theme);
    draw();
  } });
  const draw = () => {
    button.setAttribute("aria-label", `Theme: ${theme}`);
    button.title = `Theme: ${theme}`;
    replace(button, icon(ICONS[theme]));
  };
  draw();
  return button;
}

function apply(name) {
  theme = name in NEXT ? name : "system";
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
