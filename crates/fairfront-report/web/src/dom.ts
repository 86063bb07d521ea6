// Helpers for elements. Strings only become text nodes, never markup.

export type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean>;

/** An element with attributes and children; a string becomes a text node. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null));
  return element;
}

/** An SVG drawing with one path. The parser of HTML knows the namespace, so that the report contains no address. */
export function drawn(frame: Attributes, path: Attributes): SVGElement {
  const template = document.createElement("template");
  template.innerHTML = "<svg><path></path></svg>";
  const element = template.content.firstElementChild as SVGElement;
  const set = (target: Element | null, attributes: Attributes) => {
    for (const [name, value] of Object.entries(attributes)) target?.setAttribute(name, String(value));
  };
  set(element, frame);
  set(element.firstElementChild, path);
  return element;
}

/** Shortens a string to `most` characters; a shortened string ends with an ellipsis. */
export function shorten(text: string, most = 48): string {
  const shown = text.replace(/[\p{Cc}\u2028\u2029]/gu, "\uFFFD");
  const letters = [...shown.slice(0, most * 2 + 2)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

/** A name from a file: isolated in its writing direction and shortened; hovering shows up to 400 characters of it. */
export function name(text: string, most = 48): HTMLElement {
  const short = shorten(text, most);
  const element = h("bdi", { class: "name" }, short);
  if (short !== text) element.title = shorten(text, 400);
  return element;
}

let lastId = 0;

/** An id that is unique in the report. */
export function freshId(prefix: string): string {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** A section with its heading. */
export function section(id: string, title: string, intro: string | null): HTMLElement {
  const heading = h("h2", { id: `${id}-title` }, title);
  const element = h("section", { id, "aria-labelledby": `${id}-title` }, heading);
  if (intro !== null) element.append(h("p", { class: "intro" }, intro));
  return element;
}

/** A table that the keyboard can reach. If it is too wide, it scrolls sideways and a line above it says so. */
export function scrolling(table: HTMLElement, label: string): HTMLElement {
  const region = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  const hint = h("p", { class: "note hint", hidden: true }, "Scroll the table sideways to see all columns →");
  const follow = () => {
    hint.hidden = region.scrollWidth <= region.clientWidth + 1;
    region.classList.toggle("wide", !hint.hidden);
  };
  const observer = new ResizeObserver(follow);
  observer.observe(region);
  observer.observe(table);
  return h("div", {}, hint, region);
}
