// Helpers to build the page. Text becomes text nodes, never markup.

export const byId = (id) => document.getElementById(id);

/** An element with properties (`class`, `on…` and data-… included) and children; a string child is text. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Makes `nodes` the children of `parent`; moves only what changed and keeps the focus. */
export function redraw(parent, nodes) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  nodes.forEach((node, at) => { if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null); });
  while (parent.children.length > nodes.length) parent.lastElementChild.remove();
  if (focused && !parent.contains(document.activeElement)) {
    [...parent.querySelectorAll("[data-focus]")].find((node) => node.dataset.focus === focused)?.focus();
  }
}

/** Shows `items`; keeps the node of an item whose signature did not change, and so a selection in its text. */
export function keyed(parent, items, { key, signature, make }) {
  const old = parent.keyed ?? new Map();
  parent.keyed = new Map(items.map((item) => {
    const known = old.get(key(item));
    const sign = signature(item);
    return [key(item), known?.sign === sign ? known : { sign, node: make(item) }];
  }));
  redraw(parent, [...parent.keyed.values()].map((entry) => entry.node));
}

export const clock = (iso) => new Date(iso).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
