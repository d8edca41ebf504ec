// The page's address: `#/w/ID/VIEW?profile=…&revision=…`, and `#/` for the list of workspaces.

/**
 * @typedef {object} Route
 * @property {string} workspaceId empty: the list of workspaces
 * @property {string} viewId
 * @property {Object<string, string>} parameters
 */

/** Reads an address. @param {string} hash as `location.hash` @returns {Route} */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const [, first, id = "", viewId = ""] = path.split("/");
  if (first === "w" && id) return { workspaceId: decoded(id), viewId: viewId || "prompt", parameters };
  return { workspaceId: "", viewId: "workspaces", parameters };
}

/** Writes an address. @param {Route} route @returns {string} */
export function format({ workspaceId, viewId, parameters = {} }) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  return workspaceId ? `#/w/${encodeURIComponent(workspaceId)}/${viewId}${query}` : `#/${query}`;
}

/** Goes to a route; `quiet` keeps it out of the browser's history. @param {Route} route @param {boolean} [quiet] */
export function navigate(route, quiet = false) {
  const address = format(route);
  if (address === location.hash) return;
  if (!quiet) location.hash = address;
  else {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

/** Tells of every change of the address. @param {(route: Route) => void} listener */
export function onRoute(listener) {
  addEventListener("hashchange", () => listener(parse(location.hash)));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
