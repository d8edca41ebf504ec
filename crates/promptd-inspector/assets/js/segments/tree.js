// The tree of a session's segments, made of the list that the service has of it.

const PAGE_SIZE = 1_000;
/** The most segments that are read. */
const MOST_READ = 20_000;

/**
 * @typedef {object} Node
 * @property {object} stored the segment as listed
 * @property {Node[]} children what it sums up, in the order of their messages; none: messages
 */

/** Reads the segments of a session. @param {Function} call @param {{workspaceId: string, sessionId: string}} session @param {AbortSignal} signal @returns {Promise<{segments: object[], isAll: boolean}>} */
export async function readSegments(call, session, signal) {
  const all = [];
  let pageToken = "";
  do {
    const { segments = [], nextPageToken = "" } = await call("SessionService/ListSegments", { ...session, pageSize: PAGE_SIZE, pageToken }, { signal });
    all.push(...segments);
    pageToken = nextPageToken;
  } while (pageToken && all.length < MOST_READ);
  return { segments: all, isAll: !pageToken };
}

/** Puts segments below those that sum them up. @param {object[]} listed @returns {Node[]} the roots, in the order of their messages */
export function treeOf(listed) {
  const nodes = new Map(listed.map((stored) => [stored.segment.id, { stored, children: [] }]));
  const roots = [];
  for (const node of nodes.values()) (nodes.get(node.stored.segment.parentId)?.children ?? roots).push(node);
  const order = (one, other) => start(one) - start(other);
  for (const { children } of nodes.values()) children.sort(order);
  return roots.sort(order);
}

function start({ stored }) {
  return Number(stored.segment.messageStart ?? 0);
}
