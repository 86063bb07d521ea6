// The meaning of objectives and measures, as stored in `run.json`; nothing is guessed from names.

/** The rows of a group that a measure covers. */
export type Among = "all" | "positives" | "negatives";

/** The meaning of a measure. */
export interface MeasureMeaning {
  label: string;
  /** The definition, as part of a sentence. */
  description: string;
  /** The better direction; `null` if neither is better. */
  better: "larger" | "smaller" | null;
  unit: "share" | "difference" | "ratio" | "count" | "loss" | "number";
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

/** The name of a column without attribute and group. */
export function kindOf(bare: string): string {
  return bare.split("(", 1)[0] ?? bare;
}

let measures: Record<string, MeasureMeaning> = {};

/** Sets the meaning of all measures. The report shows one run, so this is global. */
export function setMeasures(known: Record<string, MeasureMeaning>): void {
  measures = known;
}

/** The meaning of a measure, by its column name without the split. */
export function meaningOf(bare: string): MeasureMeaning | undefined {
  const kind = kindOf(bare);
  return Object.hasOwn(measures, kind) ? measures[kind] : undefined;
}

/** The measure with this alias. */
export function meantBy(name: string): string | undefined {
  const found = Object.entries(measures).find(([, { aliases }]) => aliases?.includes(name));
  return found?.[0];
}
