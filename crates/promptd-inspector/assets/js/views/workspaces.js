// Workspaces: all that the caller may see, a page at a time, and those that are looked at kept up to date.

import { h, icon, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest, paused } from "../latest.js";
import { navigate, parse } from "../router.js";
import { readAgain, readPage } from "../workspaces/pages.js";
import { COLUMNS, Row } from "../workspaces/row.js";

const REFRESH_MS = 3_000;
const TYPING_MS = 120;
const AHEAD = "800px"; // how far before its end the list is continued

export const view = { id: "workspaces", title: "Workspaces", needsWorkspace: false, mount };

function mount(root, context) {
  let list = null;
  const found = h("div", { class: "ws-found" });
  const count = h("span", { class: "muted", dataset: { count: "workspaces" } });
  const search = h("input", {
    type: "search", "aria-label": "Search workspaces", placeholder: "Part of an id or of an agent's name", autocomplete: "off", spellcheck: "false", maxlength: 256,
    value: asked(), oninput: () => typed(),
  });
  const show = (query) => {
    list?.stop();
    list = new List(context, query, count, (element) => replace(found, element));
  };
  const typed = paused(() => navigate({ workspaceId: "", viewId: "workspaces", parameters: { query: search.value.trim() } }, true), TYPING_MS);
  replace(root, h("div", { class: "view-head" }, h("h1", {}, "Workspaces"), count,
    h("label", { class: "search" }, icon("M7 12A5 5 0 107 2a5 5 0 000 10zM11 11l3 3"), search)), found);
  show(asked());
  return {
    refresh: ({ kind }) => {
      if (kind !== "route" || asked() === list.query) return;
      if (search.value.trim() !== asked()) search.value = asked();
      show(asked());
    },
    destroy: () => { typed.stop(); list.stop(); },
  };
}

function asked() {
  return parse(location.hash).parameters.query ?? "";
}

// The list for one query.
class List {
  constructor(context, query, count, ready) {
    Object.assign(this, { context, query, count, ready, pages: [], next: "", seen: new Set(), loading: false });
    this.body = h("div", { role: "table", class: "ws-table card", "aria-label": "Workspaces", onkeydown: step },
      h("div", { role: "rowgroup", class: "ws-head" }, h("div", { role: "row", class: "ws-row" },
        COLUMNS.map((name) => h("span", { role: "columnheader", class: `ws-${name.toLowerCase()}` }, name)))));
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => this.read() });
    this.reading = latest((error) => this.failed(error));
    this.again = latest(() => {}); // the next time tries again
    this.ends = new IntersectionObserver((ends) => ends.at(-1).isIntersecting && this.read(), { rootMargin: AHEAD });
    this.shown = new IntersectionObserver((changes) => changes.forEach(({ target, isIntersecting }) =>
      (isIntersecting ? this.seen.add(target) : this.seen.delete(target))), { rootMargin: AHEAD });
    this.timer = setInterval(() => document.visibilityState === "visible" && this.refresh(), REFRESH_MS);
    this.read();
  }

  stop() {
    this.stopped = true;
    clearInterval(this.timer);
    for (const each of [this.ends, this.shown]) each.disconnect();
    this.reading.stop();
    this.again.stop();
  }

  // The next page, behind those that are there.
  async read() {
    if (this.loading) return;
    this.loading = true;
    await this.reading.run(async (signal) => {
      const page = await readPage(this.context.rpc.call, this.query, this.next, signal);
      const first = this.pages.length === 0;
      page.element = h("div", { role: "rowgroup", class: "ws-page" });
      page.rows = new Map();
      this.pages.push(page);
      this.draw(page);
      this.body.append(page.element);
      this.shown.observe(page.element);
      this.tell();
      if (first) this.context.say(this.count.textContent);
    });
    this.loading = false;
    if (this.stopped) return;
    this.ends.unobserve(this.more);
    if (this.next) this.ends.observe(this.more);
  }

  // The pages that are in sight, as they are now.
  async refresh() {
    if (this.loading) return;
    await this.again.run(async (signal) => {
      for (const page of this.pages.filter(({ element }) => this.seen.has(element))) {
        Object.assign(page, await readAgain(this.context.rpc.call, this.query, page, signal));
        this.draw(page);
      }
      this.tell();
    });
  }

  draw(page) {
    const rows = new Map();
    for (const workspace of page.workspaces) {
      const row = page.rows.get(workspace.id) ?? new Row(workspace);
      row.update(workspace);
      rows.set(workspace.id, row);
    }
    const elements = [...rows.values()].map(({ element }) => element);
    if (elements.length !== page.element.children.length || elements.some((each, index) => each !== page.element.children[index])) {
      for (const [id, { element }] of page.rows) if (!rows.has(id)) element.remove();
      elements.forEach((each, index) => each !== page.element.children[index] && page.element.insertBefore(each, page.element.children[index] ?? null));
    }
    page.element.style.setProperty("--rows", elements.length);
    page.rows = rows;
  }

  tell() {
    this.next = this.pages.at(-1).next;
    const shown = this.pages.reduce((sum, { workspaces }) => sum + workspaces.length, 0);
    const words = this.next ? `${format.number(shown)} shown, there are more` : format.counted(shown, "workspace");
    if (this.count.textContent !== words) replace(this.count, words);
    replace(this.more, `Show more than ${format.number(shown)}`);
    this.more.hidden = !this.next;
    this.ready(shown ? [this.body, this.more] : h("p", { class: "empty" }, this.query
      ? "No workspace has this in its id or in its agent's name."
      : "There is no workspace. Make a folder where the server looks for them, or run `promptd init DIR`."));
    this.ready = shown ? (() => {}) : this.ready;
  }

  failed(error) {
    replace(this.count);
    if (this.pages.length) this.context.report(error);
    else this.ready(errorCard(error));
  }
}

// The arrow keys go from workspace to workspace.
function step(event) {
  const direction = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!direction || event.altKey || event.ctrlKey || event.metaKey) return;
  const links = [...event.currentTarget.querySelectorAll("a")];
  const link = links[links.indexOf(document.activeElement) + direction];
  if (!link) return;
  event.preventDefault();
  link.focus();
}
