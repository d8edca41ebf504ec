// Which session: a list to choose from, and a turn that names one.

import { h, replace } from "../dom.js";

/** The most sessions that are offered: those that changed last. */
const MOST_OFFERED = 100;

/** The ids of a workspace's sessions that changed last. @param {Function} call @param {string} workspaceId @param {AbortSignal} signal @returns {Promise<string[]>} */
export async function newestSessions(call, workspaceId, signal) {
  const { sessions = [] } = await call("SessionService/ListSessions", { workspaceId, pageSize: MOST_OFFERED }, { signal });
  return sessions.map(({ id }) => id);
}

/**
 * Fills a list to choose from; the chosen session is in it, however long ago it changed.
 * @param {HTMLSelectElement} select
 * @param {string[]} ids
 * @param {string} chosen empty: none
 * @param {string} none what is said where none is chosen
 */
export function offer(select, ids, chosen, none) {
  const all = chosen && !ids.includes(chosen) ? [chosen, ...ids] : ids;
  replace(select, h("option", { value: "", selected: chosen === "" }, none),
    all.map((id) => h("option", { value: id, selected: id === chosen }, id)));
}

/** A turn with a session in the place of its conversation. @param {object} turn @param {string} id empty: without one @returns {object} */
export function withSession({ conversation, session_id, session_position, session_held_cut, ...turn }, id) {
  return id ? { ...turn, session_id: id } : turn;
}
