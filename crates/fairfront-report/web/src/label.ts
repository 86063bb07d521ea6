// Columns in words.

import { shorten } from "./dom.ts";
import type { Attribute } from "./data.ts";
import { type Column, ERROR_RATE, type Front, largeIsBetter } from "./front.ts";
import type { Split, Term } from "./grammar.ts";
import { Quantity } from "./price.ts";

/** A measure or an objective whatever the rows: `accuracy`, `objective.error_rate`. */
export type Measure = string;

/** The column of a measure on some rows. */
export function columnOf(front: Front, measure: Measure, split: Split): Column | undefined {
  return measure.startsWith("objective.")
    ? front.objective(measure.slice("objective.".length), split)
    : front.column(`${split}.${measure}`);
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
  return `${kind.replaceAll("_", " ")}${what}${of}`;
}

/** Which rows, before the word. */
export function rowsName(split: Split): string {
  return split === "train" ? "training" : split;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function isCount(measure: Measure): boolean {
  const [kind] = parts(measure);
  return kind === "count" || /^(true|false)_(positives|negatives)$/.test(kind);
}

/** Whether larger or smaller is the better side; rates of one group and counts have none. */
export function direction(measure: Measure): "large" | "small" | null {
  if (measure.startsWith("objective.")) return "small";
  const [kind, inside] = parts(measure);
  if (isCount(measure) || kind === "selection_rate") return null;
  if (inside === null || kind !== "accuracy") return largeIsBetter(`train.${measure}`) ? "large" : "small";
  return "large";
}

const EXPLAINED: Record<string, string> = {
  accuracy: "the share of rows that are decided rightly",
  log_loss: "how far the probabilities are from what happened; sharper than accuracy",
  balanced_accuracy: "the mean of the shares of correct decisions among positive and among negative labels",
  precision: "the share of selected rows that are labeled positive",
  brier_score: "the mean squared difference between probability and label: 0 is perfect",
  auc: "how often a row labeled positive has a higher score than a row labeled negative",
  calibration_error:
    "how far probabilities are from the share of positive labels, on average over ten bins: 0 is perfect",
  error_rate: "the mean cost of wrong decisions",
  demographic_parity_difference:
    "how far apart the groups' shares of positive decisions are: 0 is equal, 0.1 is ten in a hundred",
  demographic_parity_ratio:
    "the smallest share of positive decisions of any group, divided by the largest: 1 is equal; below 0.8 fails the four-fifths rule",
  equal_opportunity_difference:
    "how far apart the groups are in how often somebody who deserves a positive decision is refused: 0 is equal",
  false_positive_rate_difference:
    "how far apart the groups are in how often somebody gets a positive decision undeservedly: 0 is equal",
  equalized_odds_difference:
    "the larger of the differences in false negative and false positive rates: 0 is equal",
  mutual_information: "how much a decision tells about the group, in nats: 0 is nothing",
  selection_rate: "the share of positive decisions in a group",
  false_negative_rate: "of those who deserve a positive decision, the share that is refused",
  false_positive_rate: "of those who do not, the share that gets one",
};

/** What a measure means, in a sentence without its end. */
export function explain(measure: Measure): string | null {
  const [kind, inside] = parts(measure);
  if (measure.startsWith("objective.")) {
    return "what was minimised: a smooth function that solvers can follow; smaller is better";
  }
  if (kind === "accuracy" && inside !== null) return "the share of a group that is decided rightly";
  return Object.hasOwn(EXPLAINED, kind) ? (EXPLAINED[kind] ?? null) : null;
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
  const fair = front.objectives.slice(1).map((name) => {
    const measure = measureOf(Quantity.of(name, front.split).column);
    return measure;
  });
  const all = ["accuracy", ...fair];
  return [...new Set(all)].filter((measure) => columnOf(front, measure, front.split));
}
