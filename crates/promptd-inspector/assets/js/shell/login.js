// Asks for a token. It is kept in the memory of the page alone: a reload asks again.

import { h, replace } from "../dom.js";
import { call, setToken } from "../rpc.js";
import { errorCard } from "../errors.js";

/**
 * Asks until the server takes a token.
 * @param {HTMLElement} root
 * @returns {Promise<void>}
 */
export function login(root) {
  return new Promise((resolve) => {
    const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-note" });
    const button = h("button", { class: "primary", type: "submit" }, "Sign in");
    const said = h("div", { role: "alert" });
    const form = h("form", { class: "login card", onsubmit: async (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (!/^[!-~]+$/.test(token)) return replace(said, h("p", { class: "field-error" }, "A token has only letters, digits and signs of ASCII, and no spaces: copy it again."));
      button.disabled = true;
      setToken(token);
      try {
        await call("WorkspaceService/ListWorkspaces", { pageSize: 1 });
        resolve();
      } catch (error) {
        setToken("");
        replace(said, error.code === "unauthenticated" ? h("p", { class: "field-error" }, "The server does not know this token, or has revoked it.") : errorCard(error));
        input.setAttribute("aria-invalid", "true");
        input.select();
        input.focus();
      }
      button.disabled = false;
    } },
      h("h1", {}, "Sign in"),
      h("p", { class: "muted", id: "token-note" }, "This server asks for a token. The page shows what that token may see, and keeps it in its memory alone: a reload asks again."),
      h("label", { for: "token" }, "Token"), input, said, h("div", {}, button));
    replace(root, form);
    input.focus();
  });
}
