// Columns in words.

import { shorten } from "./dom.ts";
import type { Attribute } from "./data.ts";
import { type Column, ERROR_RATE, type Front, UNMITIGATED, type Value } from "./front.ts";
import type { Split, Term } from "./grammar.ts";
import { meaningOf } from "./meaning.ts";
import { cell, fixed } from "./number.ts";
import { Quantity } from "./price.ts";

/** A measure or an objective whatever the rows: `accuracy`, `objective.error_rate`. */
export type Measure = string;

/** The column of a measure on some rows. */
export function columnOf(front: Front, measure: Measure, split: Split): Column | undefined {
  return measure.startsWith("objective.")
    ? front.objective(measure.slice("objective.".length), split)
    : front.column(`${split}.${measure}`);
}

/** The name of that column. */
export function columnName(measure: Measure, split: Split): string {
  return measure.startsWith("objective.") && split === "train" ? measure : `${split}.${measure}`;
}

/** The measure that a column shows. */
export function measureOf(column: string): Measure {
  return column.replace(/^(train|validation|test)\./, "");
}

function parts(measure: Measure): [kind: string, inside: string | null] {
  const bare = measure.replace(/^objective\./, "");
  const open = bare.indexOf("(");
  return open < 0 ? [bare, null] : [bare.slice(0, open), bare.slice(open + 1).replace(/\)$/, "")];
}

/** `demographic parity difference (sex)` */
export function words(measure: Measure, most = 40): string {
  const [kind, inside] = parts(measure);
  const of = inside === null ? "" : ` (${shorten(inside, most)})`;
  const what = measure.startsWith("objective.") ? " objective" : "";
  return `${meaningOf(kind)?.label ?? kind.replaceAll("_", " ")}${what}${of}`;
}

/** Which rows, before the word. */
export function rowsName(split: Split): string {
  return split === "train" ? "training" : split;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function isCount(measure: Measure): boolean {
  return meaningOf(measure)?.unit === "count";
}

/** Whether a measure is a share of rows, which people read as a percentage. */
export function isRate(measure: Measure): boolean {
  return meaningOf(measure)?.unit === "share";
}

/** `84.6%` for a share, four digits for anything else. */
export function valueText(measure: Measure, value: Value): string {
  if (value === null) return "–";
  return isRate(measure) ? `${fixed(100 * value, 1)}%` : cell(value, isCount(measure));
}

/** `84.0% to 85.2%` */
export function intervalText(measure: Measure, [low, high]: [number, number]): string {
  return isRate(measure)
    ? `${fixed(100 * low, 1)}% to ${fixed(100 * high, 1)}%`
    : `${fixed(low, 3)} to ${fixed(high, 3)}`;
}

/** `model 12`, `the unmitigated model` */
export function modelName(id: number): string {
  return id === UNMITIGATED ? "the unmitigated model" : `model ${id}`;
}

/** The same where there is little room. */
export function shortName(id: number): string {
  return id === UNMITIGATED ? "unmitigated" : `model ${id}`;
}

/** Whether larger or smaller is the better side; rates of one group and counts have none. */
export function direction(measure: Measure): "large" | "small" | null {
  if (measure.startsWith("objective.")) return "small";
  const better = isCount(measure) ? null : (meaningOf(measure)?.better ?? null);
  return better === null ? null : better === "larger" ? "large" : "small";
}

/** What a measure means, in a sentence without its end. */
export function explain(measure: Measure): string | null {
  const [kind, inside] = parts(measure);
  if (measure.startsWith("objective.")) {
    return "the smooth function that the solver minimized; smaller is better";
  }
  if (kind === "accuracy" && inside !== null) return "the share of a group whose decision agrees with the label";
  return meaningOf(kind)?.description ?? null;
}

/** The term that means a measure, whatever is in its names. */
export function termOf(measure: Measure, attributes: Attribute[]): Term {
  const objective = measure.startsWith("objective.");
  const [kind, inside] = parts(measure);
  const term: Term = { split: null, objective, name: kind, attribute: [], group: [] };
  if (inside === null) return term;
  if (kind === "error_rate") return { ...term, name: `${kind}(${inside})` };
  for (const { name, groups } of attributes) {
    if (inside === name) return { ...term, attribute: [name] };
    const group = groups.find((g) => inside === `${name}=${g}`);
    if (group !== undefined) return { ...term, attribute: [name], group: [group] };
  }
  return { ...term, attribute: [inside] };
}

/** What the front was judged by, as people read it: accuracy instead of its opposite. */
export function judgedMeasures(front: Front): Measure[] {
  if (front.frontIn === "objectives") return front.objectives.map((name) => `objective.${name}`);
  return front.measures.map((name) => (name === ERROR_RATE ? "accuracy" : name));
}

/** Accuracy, and for each other objective the measure it stands for: what prices are said in. */
export function pricedMeasures(front: Front): Measure[] {
  const fair = front.meant.slice(1).map((objective) => measureOf(Quantity.of(objective, front.split).column));
  const all = ["accuracy", ...fair];
  return [...new Set(all)].filter((measure) => columnOf(front, measure, front.split));
}
