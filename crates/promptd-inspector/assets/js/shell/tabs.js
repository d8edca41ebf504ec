// The views as tabs. One tab is in the tab order; the arrow keys move between them.

import { h, replace } from "../dom.js";
import { format } from "../router.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * Draws the tabs.
 * @param {HTMLElement} root
 * @param {Array<{id: string, title: string, needsWorkspace: boolean}>} views
 * @param {import("../router.js").Route} route
 */
export function drawTabs(root, views, route) {
  const held = root.contains(document.activeElement);
  const links = views.map((view) => {
    const current = view.id === route.viewId;
    const disabled = view.needsWorkspace && !route.workspaceId;
    const { profile, revision } = route.parameters; // the others are the view's own
    const href = view.id === "workspaces" ? "#/" : format({ ...route, viewId: view.id, parameters: { profile, revision } });
    return h("a", {
      class: "tab", href: disabled ? null : href, "aria-current": current ? "page" : null, "aria-disabled": disabled ? "true" : null,
      role: disabled ? "link" : null, tabindex: current ? "0" : "-1", dataset: { tab: view.id }, onkeydown: move,
    }, view.title);
  });
  if (!links.some((link) => link.tabIndex === 0)) links.at(-1).tabIndex = 0;
  replace(root, links);
  if (held) root.querySelector("[aria-current]")?.focus();
  root.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function move(event) {
  const tabs = [...event.currentTarget.parentNode.children].filter((tab) => tab.hasAttribute("href"));
  const at = tabs.indexOf(event.currentTarget);
  const next = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : at + STEPS[event.key];
  if (Number.isNaN(next) || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const tab = tabs[(next + tabs.length) % tabs.length];
  for (const each of tabs) each.tabIndex = each === tab ? 0 : -1;
  tab.focus();
}
