// The box of warnings near the top of the report.

import type { Diagnostic } from "./data.ts";
import { freshId, h, shorten } from "./dom.ts";
import { counted } from "./number.ts";

/** The number of warnings shown at first. */
const FIRST = 3;

export function isWarning({ severity }: Diagnostic): boolean {
  return severity === "warning";
}

/** `Warning` or `Note`. */
export function severityName(message: Diagnostic): string {
  return isWarning(message) ? "Warning" : "Note";
}

/** A message as a sentence, with a period unless it ends with other punctuation. */
export function sentence(message: string): string {
  const text = shorten(message.trim(), 800);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A message as a sentence in which options of the command are not broken at line ends. */
export function message(text: string): (Node | string)[] {
  const parts = sentence(text).split(/((?<![\w-])--[a-z][a-z-]{0,30})/);
  return parts.map((part, i) => (i % 2 === 1 ? h("span", { class: "option" }, part) : part));
}

/** A box with the warnings, the first three in full and the rest on request; `null` if there are none. */
export function warningBox(messages: Diagnostic[]): HTMLElement | null {
  const warnings = messages.filter(isWarning);
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
