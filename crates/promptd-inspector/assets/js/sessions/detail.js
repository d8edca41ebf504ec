// One session, as it is now: what it has by role, how long it has gone on, and its newest messages.

import { h, replace } from "../dom.js";
import { errorCard } from "../errors.js";
import * as format from "../format.js";
import { latest } from "../latest.js";
import { watchSession } from "../live.js";
import { format as address } from "../router.js";
import { back } from "../split.js";
import { withSession } from "./choice.js";
import { duration, message, roles } from "./words.js";

const MOST_SHOWN = 50;
const LIVE = { connecting: "Connecting", connected: "Live", reconnecting: "Reconnecting", gone: "Removed" };

/** The panel beside the list of sessions. */
export class SessionDetail {
  /** @param {object} context of the view */
  constructor(context) {
    this.context = context;
    this.live = h("span", { class: "live" });
    this.facts = h("div", { class: "detail-block stack" });
    this.messages = h("ol", { class: "said-list", "aria-label": "Messages, the oldest first" });
    this.older = h("button", { type: "button", class: "more", hidden: true, onclick: () => this.read(this.first) });
    /** @type {HTMLElement} */
    this.element = h("section", { class: "split-detail card", "aria-label": "Session" });
    this.reading = latest((error) => replace(this.messages, h("li", {}, errorCard(error))));
    this.unwatch = () => {};
  }

  /** Shows a session, or says how to choose one. @param {string} id empty: none */
  show(id) {
    if (id === this.id) return;
    this.stop();
    this.id = id;
    this.first = null;
    if (!id) return replace(this.element, h("p", { class: "empty" }, "Choose a session to see its messages as they come."));
    const { state, update, navigate, report } = this.context;
    const use = () => {
      update({ turn: withSession(state.turn, id) });
      navigate("context");
    };
    replace(this.facts);
    replace(this.messages);
    replace(this.element, h("div", { class: "detail-head" }, back(this.address("")),
      h("div", { class: "row spread" }, h("h2", {}, h("bdi", {}, id)), this.live),
      h("div", { class: "row" }, h("button", { type: "button", dataset: { act: "use" }, onclick: use }, "Use it in the turn"))),
    this.facts, this.older, this.messages);
    this.unwatch = watchSession(state.workspaceId, id, {
      live: (live) => {
        this.live.dataset.live = live;
        replace(this.live, LIVE[live]);
      },
      published: (session) => this.draw(session),
      failed: report,
    });
  }

  stop() {
    this.unwatch();
    this.reading.stop();
  }

  draw(session) {
    const { position = "0", messageCount = "0", bytes, createdAt, changedAt } = session;
    this.element.dataset.at = position;
    replace(this.facts, roles(session), h("p", { class: "small muted" }, [
      format.counted(messageCount, "message"), format.bytes(bytes), `position ${format.number(position)}`, `went on for ${duration(session)}`,
      `began ${format.time(createdAt)}`, `changed ${format.time(changedAt)}`,
    ].join(" · ")));
    this.read(Number(position));
  }

  // The messages before a position. A truncation takes a position too, so there may be fewer.
  read(end) {
    const { state, rpc } = this.context;
    const from = Math.max(0, end - MOST_SHOWN);
    const isNewest = end !== this.first;
    this.reading.run(async (signal) => {
      const request = { workspaceId: state.workspaceId, sessionId: this.id, fromPosition: from, pageSize: MOST_SHOWN };
      const { messages = [] } = await rpc.call("SessionService/ListMessages", request, { signal });
      const items = messages.filter(({ position = 0 }) => Number(position) < end).map((each) => message(each));
      if (isNewest) replace(this.messages, items);
      else this.messages.prepend(...items);
      this.first = from;
      this.older.hidden = from === 0;
      replace(this.older, `Show those before position ${format.number(from)}`);
    });
  }

  address(session) {
    const { workspaceId, profile, revision } = this.context.state;
    return address({ workspaceId, viewId: "sessions", parameters: { profile, revision, session } });
  }
}
