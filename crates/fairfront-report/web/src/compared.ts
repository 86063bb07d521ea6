// Groups with too few training rows: their rates are shown, but no difference or ratio includes them.

import type { RunFacts } from "./data.ts";
import { h } from "./dom.ts";
import { type Among, meaningOf, selects } from "./meaning.ts";
import { counted, grouped } from "./number.ts";

const KINDS: Among[] = ["all", "positives", "negatives"];
const LABELED: Record<Among, string> = { all: "", positives: " labeled positive", negatives: " labeled negative" };

/** The rows of a group that a measure covers. */
export function amongOf(measure: string): Among {
  return meaningOf(measure)?.among ?? "all";
}

/** The object's own entry of this name; a name from a file may also be that of an inherited property. */
function own<T>(all: Record<string, T> | undefined, name: string): T | undefined {
  return all !== undefined && Object.hasOwn(all, name) ? all[name] : undefined;
}

/**
 * Why a group is not compared with others, as a sentence without a period; `null` if it is compared, or if the run does
 * not record this. Without `among`, the group must be compared in all rates.
 */
export function notCompared(run: RunFacts, attribute: string, group: string, among?: Among): string | null {
  const facts = own(own(run.groups, attribute), group);
  if (!facts) return null;
  const kinds: Among[] = selects() ? KINDS : ["all"];
  const short = (among === undefined ? kinds : [among]).filter((kind) => !facts.compared[kind]);
  if (short.length === 0) return null;
  const counts = { all: facts.rows, positives: facts.positives, negatives: facts.rows - facts.positives };
  // If a group is too small as a whole, that is the only reason shown.
  const reasons = (short.includes("all") ? (["all"] as const) : short).map(
    (kind) => `${counted(counts[kind], "training row")}${LABELED[kind]}`,
  );
  const least = run.spec.min_group === undefined ? "" : `, fewer than ${grouped(run.spec.min_group)}`;
  return `Not compared: ${reasons.join(" and ")}${least}`;
}

/** The mark of a group that is not compared, with the reason on hover and for screen readers. */
export function daggerOf(run: RunFacts, attribute: string, group: string, among?: Among): HTMLElement | null {
  const why = notCompared(run, attribute, group, among);
  if (why === null) return null;
  return h("span", { class: "dagger", title: why }, "†", h("span", { class: "hidden" }, ` (${why})`));
}

/** The lines below rates by group; `null` if all groups of the attribute are compared in all rates. */
export function comparedNote(run: RunFacts, attribute: string): string | null {
  const groups = Object.values(own(run.groups, attribute) ?? {});
  const least = run.spec.min_group === undefined ? "too few" : `fewer than ${grouped(run.spec.min_group)}`;
  const notes: string[] = [];
  if (groups.some(({ compared }) => !compared.all)) {
    notes.push(`Groups with ${least} training rows are shown, but left out of differences and ratios.`);
  }
  if (selects() && groups.some(({ compared }) => compared.all && !(compared.positives && compared.negatives))) {
    notes.push(
      `Groups with ${least} training rows labeled positive are left out of differences between false negative rates; ` +
        `groups with ${least} training rows labeled negative, of differences between false positive rates.`,
    );
  }
  return notes.length === 0 ? null : `† ${notes.join(" ")}`;
}
