// Elements of the page. Text is only ever text: there is no way here to make markup from it.

/**
 * Makes an element. `on…` attributes are listeners, `dataset` and `style` (custom properties) are objects, `class` may be a
 * list with false values in it; true and false set and leave out an attribute; other values are attributes as in HTML.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string|number|null|false|undefined|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

/** Makes an icon of 16 by 16 from the data of one path, hidden from screen readers. @param {string} path @returns {SVGElement} */
export function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const line = svg.appendChild(document.createElementNS(space, "path"));
  line.setAttribute("d", path);
  return svg;
}

/** Removes all children. @param {Node} node */
export function clear(node) {
  node.replaceChildren();
}

/** Puts other children in place of all. @param {Element} node @param {...any} children */
export function replace(node, ...children) {
  node.replaceChildren(...nodes(children));
}

/** Gives a node these children in this order; those that it has already stay where they are. @param {Element} parent @param {Element[]} children */
export function arrange(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let at = parent.firstChild;
  for (const child of children) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
}

/** Scrolls an element into view; once more when what is around it has been laid out. @param {Element} element @param {"start"|"center"} block */
export function bringIntoView(element, block) {
  const scroll = () => element.scrollIntoView({ block, behavior: "instant" });
  scroll();
  requestAnimationFrame(() => requestAnimationFrame(scroll));
}

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "dataset") Object.assign(element.dataset, value);
  else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
  else if (name === "class") element.className = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
  else if (name === "value") element.value = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}
