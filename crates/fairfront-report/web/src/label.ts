// Columns, values and models in words.

import { shorten } from "./dom.ts";
import type { Attribute } from "./data.ts";
import { type Column, ERROR_RATE, type Front, UNMITIGATED, type Value } from "./front.ts";
import type { Split, Term } from "./grammar.ts";
import { decides, meaningOf, nameParts, performanceName, targetClasses, targetDigits } from "./meaning.ts";
import { idOf } from "./modelId.ts";
import { cell, fixed, inTarget } from "./number.ts";
import { pairOf, type Parts } from "./parts.ts";
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

/** The parts of the name of a measure or an objective. */
export function parts(measure: Measure): Parts {
  return nameParts(measure.replace(/^objective\./, ""));
}

/** `decided high`, or `decided at least high` if classes are ordered. */
export function decidedText(name: string, most = 40): string {
  return `decided ${targetClasses()?.ordered ? "at least " : ""}${shorten(name, most)}`;
}

/** The name of a kind of measure in words, with the class that it is about: `recall of low`. */
function kindWords({ kind, class: of }: Parts, most: number): string {
  const label = meaningOf(kind)?.label ?? kind.replaceAll("_", " ");
  if (of === null) return label;
  if (kind === "selection_rate") return `share ${decidedText(of, most)}`;
  if (kind === "decisions") {
    const [actual = of, decided = ""] = pairOf(of, targetClasses()?.names ?? []) ?? [];
    return `rows of ${shorten(actual, most)} decided ${shorten(decided, most)}`;
  }
  return `${label} ${kind.endsWith("_difference") ? "for" : "of"} ${shorten(of, most)}`;
}

/** A measure in words, and in parentheses its attribute or group; the latter is empty if it has none. */
export function wordParts(measure: Measure, most = 40): [words: string, of: string] {
  const all = parts(measure);
  const of = all.inside === null ? "" : `(${shorten(all.inside, most)})`;
  return [`${kindWords(all, most)}${measure.startsWith("objective.") ? " objective" : ""}`, of];
}

/** `demographic parity difference (sex)`, `recall of low (sex=F)` */
export function words(measure: Measure, most = 40): string {
  return wordParts(measure, most).filter((part) => part !== "").join(" ");
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
  const { kind, class: of, inside } = parts(measure);
  if (measure.startsWith("objective.")) {
    return "the smooth function that the solver minimized; smaller is better";
  }
  if (of !== null) return explainOfClass(kind, shorten(of, 40)) ?? meaningOf(kind)?.description ?? null;
  if (kind === "accuracy" && inside !== null) return "the share of a group whose decision agrees with the label";
  const known = meaningOf(kind);
  if (known?.unit === "target" && inside?.includes("=")) return `${known.description}, in the group`;
  return known?.description ?? null;
}

/** The definition of a measure of one class. */
function explainOfClass(kind: string, of: string): string | null {
  switch (kind) {
    case "selection_rate":
      return `the share of rows ${decidedText(of)}`;
    case "recall":
      return `the share of right decisions among the rows of the class ${of}`;
    case "precision":
      return `the share of rows of the class ${of} among those decided ${of}`;
    case "f1":
      return `the harmonic mean of precision and recall of the class ${of}: 1 is perfect`;
    case "demographic_parity_difference":
      return `the largest difference between groups in the share ${decidedText(of)}: 0 means equal`;
    case "equal_opportunity_difference":
      return `the largest difference between groups in the recall of ${of}: 0 means equal`;
    case "equalized_odds_difference": {
      const decided = targetClasses()?.ordered ? "at least as high as any class" : "as any class";
      return `the largest difference between groups in the share decided ${decided} among the rows of the class ${of}: 0 means equal`;
    }
    default:
      return null;
  }
}

/** The term for a measure; names may contain any characters. */
export function termOf(measure: Measure, attributes: Attribute[]): Term {
  const objective = measure.startsWith("objective.");
  const { kind, class: of, inside } = parts(measure);
  const term: Term = { split: null, objective, name: kind, class: of, attribute: [], group: [] };
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

/** Whether a measure is the same for all models: every decision is at least as high as the lowest of ordered classes. */
export function isConstant(measure: Measure): boolean {
  const classes = targetClasses();
  if (!classes?.ordered) return false;
  const { kind, class: of } = parts(measure);
  return of === classes.names[0] && ["selection_rate", "demographic_parity_difference"].includes(kind);
}

/** Whether a measure is about one class, over all rows or in the groups of an attribute. */
export function isOfClass(measure: Measure): boolean {
  return parts(measure).class !== null;
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
