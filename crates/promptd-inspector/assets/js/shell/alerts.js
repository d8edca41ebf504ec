// Errors that no view shows at its own place, below the header until they are dismissed or outlived by a success.

import { errorCard, isAbort } from "../errors.js";
import { clear } from "../dom.js";

const root = document.getElementById("alerts");

/** Shows an error. @param {Error} error */
export function report(error) {
  if (isAbort(error) || error?.code === "unauthenticated") return;
  if (!error.code) console.error(error);
  const same = [...root.children].find((card) => card.textContent.includes(error.message));
  same?.remove();
  const card = errorCard(error, () => card.remove());
  root.append(card);
}

/** Takes all errors away. */
export function dismissAll() {
  clear(root);
}
