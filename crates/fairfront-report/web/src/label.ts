// Columns, values and models in words.

import { shorten } from "./dom.ts";
import type { Attribute } from "./data.ts";
import { type Column, ERROR_RATE, type Front, UNMITIGATED, type Value } from "./front.ts";
import type { Split, Term } from "./grammar.ts";
import { decides, meaningOf, performanceName, targetDigits } from "./meaning.ts";
import { idOf } from "./modelId.ts";
import { cell, fixed, inTarget } from "./number.ts";
import { Quantity } from "./price.ts";

/** The name of a measure or an objective without the split: `accuracy`, `objective.error_rate`. */
export type Measure = string;

/** The column of a measure on a split. */
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
  const suffix = measure.startsWith("objective.") ? " objective" : "";
  return `${meaningOf(kind)?.label ?? kind.replaceAll("_", " ")}${suffix}${of}`;
}

/** `, in salary` for a measure in the unit of the target. */
export function unitText(measure: Measure, target: string | null): string {
  return isInTarget(measure) ? `, in ${shorten(target ?? "the unit of the target", 28)}` : "";
}

/** The adjective of a split, as in `training rows`. */
export function rowsName(split: Split): string {
  return split === "train" ? "training" : split;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function isCount(measure: Measure): boolean {
  return meaningOf(measure)?.unit === "count";
}

/** Whether a measure is a share of rows, shown as a percentage. */
export function isRate(measure: Measure): boolean {
  return meaningOf(measure)?.unit === "share";
}

/** Whether a measure is in the unit of a target that is a number. Objectives are in standard deviations of the target. */
export function isInTarget(measure: Measure): boolean {
  return !measure.startsWith("objective.") && meaningOf(measure)?.unit === "target";
}

/** `84.6%` for a share, the digits of the target for values in its unit, four decimals for other measures, commas for counts. */
export function valueText(measure: Measure, value: Value): string {
  if (value === null) return "–";
  if (isInTarget(measure)) return inTarget(value, targetDigits());
  return isRate(measure) ? `${fixed(100 * value, 1)}%` : cell(value, isCount(measure));
}

/** `84.0% to 85.2%` */
export function intervalText(measure: Measure, [low, high]: [number, number]): string {
  return isRate(measure)
    ? `${fixed(100 * low, 1)}% to ${fixed(100 * high, 1)}%`
    : `${endText(measure, low)} to ${endText(measure, high)}`;
}

/** The end of an interval of a measure that is not a share. */
export function endText(measure: Measure, end: number): string {
  return isInTarget(measure) ? inTarget(end, targetDigits()) : fixed(end, 3);
}

/** `model 12`, `the unmitigated model` */
export function modelName(model: number): string {
  return model === UNMITIGATED ? "the unmitigated model" : `model ${idOf(model)}`;
}

/** A short name for small places. */
export function shortName(model: number): string {
  return model === UNMITIGATED ? "unmitigated" : `model ${idOf(model)}`;
}

/** The better direction; `null` for rates of one group and for counts. */
export function direction(measure: Measure): "large" | "small" | null {
  if (measure.startsWith("objective.")) return "small";
  const better = isCount(measure) ? null : (meaningOf(measure)?.better ?? null);
  return better === null ? null : better === "larger" ? "large" : "small";
}

/** The definition of a measure, as part of a sentence. */
export function explain(measure: Measure): string | null {
  const [kind, inside] = parts(measure);
  if (measure.startsWith("objective.")) {
    return "the smooth function that the solver minimized; smaller is better";
  }
  if (kind === "accuracy" && inside !== null) return "the share of a group whose decision agrees with the label";
  const known = meaningOf(kind);
  if (known?.unit === "target" && inside?.includes("=")) return `${known.description}, in the group`;
  return known?.description ?? null;
}

/** The term for a measure; names may contain any characters. */
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

/** Whether a measure describes one group. */
export function isOfGroup(measure: Measure, attributes: Attribute[]): boolean {
  return termOf(measure, attributes).group.length > 0;
}

/** The measures or objectives that define the front, with accuracy instead of the error rate. */
export function judgedMeasures(front: Front): Measure[] {
  if (front.frontIn === "objectives") return front.objectives.map((name) => `objective.${name}`);
  return front.measures.map((name) => (name === ERROR_RATE ? "accuracy" : name));
}

/**
 * The measures or objectives in which models are shown: those that define the front. Objectives of predicted numbers are
 * in standard deviations of the target, which hardly any reader knows, so the measures that they stand for take their
 * place.
 */
export function shownMeasures(front: Front): Measure[] {
  return decides() ? judgedMeasures(front) : pricedMeasures(front);
}

/** The measures that a price states: the performance, and for each other objective the measure it stands for. */
export function pricedMeasures(front: Front): Measure[] {
  const fair = front.meant.slice(1).map((objective) => measureOf(Quantity.of(objective, front.split).column));
  const all = [performanceName(), ...fair];
  return [...new Set(all)].filter((measure) => columnOf(front, measure, front.split));
}
