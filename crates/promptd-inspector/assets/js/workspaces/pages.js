// Pages of the list of workspaces. A page keeps the ids that it spans, so that it can be read again by itself.

const PAGE_SIZE = 200;

/**
 * @typedef {object} Page
 * @property {string} token where it begins, as the server has it
 * @property {string} next where the page after it begins; empty: it is the last
 * @property {Array<object>} workspaces
 */

/**
 * Reads a page for the first time.
 * @param {typeof import("../rpc.js").call} call
 * @param {string} query
 * @param {string} token
 * @param {AbortSignal} signal
 * @returns {Promise<Page>}
 */
export async function readPage(call, query, token, signal) {
  const request = { pageSize: PAGE_SIZE, pageToken: token };
  if (query) request.query = query;
  const { workspaces = [], nextPageToken: next = "" } = await call("WorkspaceService/ListWorkspaces", request, { signal });
  return { token, next, workspaces };
}

/**
 * Reads a page again: what is between the same two ids by now, be it more or less than before.
 * @param {typeof import("../rpc.js").call} call
 * @param {string} query
 * @param {Page} page
 * @param {AbortSignal} signal
 * @returns {Promise<Page>}
 */
export async function readAgain(call, query, page, signal) {
  const last = page.workspaces.at(-1)?.id ?? "";
  let { next, workspaces } = await readPage(call, query, page.token, signal);
  if (!page.next) return { token: page.token, next, workspaces };
  while (next && workspaces.at(-1).id < last) {
    const more = await readPage(call, query, next, signal);
    next = more.next;
    workspaces = [...workspaces, ...more.workspaces];
  }
  return { token: page.token, next: page.next, workspaces: workspaces.filter(({ id }) => id <= last) };
}
