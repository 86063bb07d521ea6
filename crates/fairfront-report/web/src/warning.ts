// The warnings of a run, where people who decide see them first.

import type { Notice } from "./data.ts";
import { freshId, h, shorten } from "./dom.ts";
import { counted } from "./number.ts";

/** How many warnings are shown before someone asks for all of them. */
const FIRST = 3;

export function isWarning({ level }: Notice): boolean {
  return level === "warning";
}

/** `Warning` or `Note`. */
export function levelName(notice: Notice): string {
  return isWarning(notice) ? "Warning" : "Note";
}

/** A message as a sentence: with a full stop, unless it has its own end. */
export function sentence(message: string): string {
  const text = shorten(message.trim(), 800);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The same with options of the command kept whole at the ends of lines. */
export function message(text: string): (Node | string)[] {
  const parts = sentence(text).split(/((?<![\w-])--[a-z][a-z-]{0,30})/);
  return parts.map((part, i) => (i % 2 === 1 ? h("span", { class: "option" }, part) : part));
}

/** A box with the warnings, the first three in full and the rest on request; `null` if there are none. */
export function warningBox(notices: Notice[]): HTMLElement | null {
  const warnings = notices.filter(isWarning);
  if (warnings.length === 0) return null;
  const id = freshId("warnings");
  const items = warnings.map((one, i) => h("li", { hidden: i >= FIRST }, ...message(one.message)));
  const element = h(
    "div",
    { class: "warnings", role: "region", "aria-labelledby": id },
    h("h2", { id }, counted(warnings.length, "warning")),
    h("ul", {}, ...items),
  );
  if (items.length > FIRST) {
    const more = h("button", { type: "button", class: "link", "aria-expanded": "false" });
    const show = (all: boolean) => {
      items.slice(FIRST).forEach((item) => {
        item.hidden = !all;
      });
      more.setAttribute("aria-expanded", String(all));
      more.textContent = all ? `show the first ${FIRST} only` : `show all ${items.length} warnings`;
    };
    more.addEventListener("click", () => show(more.getAttribute("aria-expanded") === "false"));
    show(false);
    element.append(more);
  }
  return element;
}
