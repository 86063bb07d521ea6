// The meaning of objectives and measures, as stored in `run.json`; nothing is guessed from names.

import { kindOf, pairOf, type Parts, partsOf } from "./parts.ts";

/** The rows of a group that a measure covers. */
export type Among = "all" | "positives" | "negatives";

/** The meaning of a measure. */
export interface MeasureMeaning {
  label: string;
  /** The definition, as part of a sentence. */
  description: string;
  /** The better direction; `null` if neither is better. */
  better: "larger" | "smaller" | null;
  unit: "share" | "difference" | "ratio" | "count" | "loss" | "target" | "number";
  among: Among;
  /** The rates of groups that it compares. */
  compares?: string[];
  /** Other common names of the measure. */
  aliases?: string[];
}

/** The meaning of an objective; all objectives are minimized. */
export interface ObjectiveMeaning {
  name: string;
  /** The measure that it stands for, as named in columns; `null` if there is none. */
  measure: string | null;
  /** Whether it is a covariance of the score, which only stands in for its measure. */
  covariance: boolean;
}

/** How the numbers of a target become labels: label = (number − center) / scale. */
export interface TargetUnit {
  center: number;
  scale: number;
  /** The smallest and the largest number in the training rows. */
  range: [number, number];
  /** Labels at which distributions are compared, in increasing order. */
  thresholds: number[];
}

/** The classes of a target, more than two. */
export interface Classes {
  names: string[];
  /** Whether they are in order, from the lowest to the highest. */
  ordered?: boolean;
}

/** The meaning of the objectives and measures of a run. */
export interface Meaning {
  /** Absent if models decide between two labels. */
  target?: { number?: TargetUnit; classes?: Classes };
  /** The measure of how good predictions are: `accuracy`, `rmse` or `mae`; absent in older runs, which have decisions. */
  performance?: string;
  objectives: ObjectiveMeaning[];
  measures: Record<string, MeasureMeaning>;
}

let meaning: Meaning = { objectives: [], measures: {} };

/** Sets the meaning of all measures. The report shows one run, so this is global. */
export function setMeaning(known: Meaning): void {
  meaning = known;
}

/** The classes of the target; `null` if it has two labels or is a number. */
export function targetClasses(): Classes | null {
  return meaning.target?.classes ?? null;
}

/** The unit of a target that is a number; `null` if models decide. */
export function targetUnit(): TargetUnit | null {
  return meaning.target?.number ?? null;
}

/** Whether models decide between labels, rather than predict a number. */
export function decides(): boolean {
  return targetUnit() === null;
}

/** Whether models decide between two labels: a row is selected or refused. */
export function selects(): boolean {
  return decides() && targetClasses() === null;
}

/** The parts of the name of a measure or an objective, without the split. */
export function nameParts(bare: string): Parts {
  const classes = targetClasses()?.names ?? [];
  return partsOf(bare, (text) => classes.includes(text) || pairOf(text, classes) !== null);
}

/** The measure of how good predictions are, without the split. */
export function performanceName(): string {
  return meaning.performance ?? "accuracy";
}

/**
 * Digits after the decimal point with which numbers in the unit of the target are shown: three significant digits of its
 * standard deviation, at most six.
 */
export function targetDigits(): number {
  const unit = targetUnit();
  return unit === null ? 5 : Math.min(Math.max(2 - Math.floor(Math.log10(unit.scale)), 0), 6);
}

/** The meaning of a measure, by its column name without the split. */
export function meaningOf(bare: string): MeasureMeaning | undefined {
  const kind = kindOf(bare);
  return Object.hasOwn(meaning.measures, kind) ? meaning.measures[kind] : undefined;
}

/** The measure with this alias. */
export function meantBy(name: string): string | undefined {
  const found = Object.entries(meaning.measures).find(([, { aliases }]) => aliases?.includes(name));
  return found?.[0];
}
