// The columns of a front, by name.

import { canonical, nearNames, termText, SPLITS, type Split, type Term } from "./grammar.ts";
import { meaningOf, meantBy, type ObjectiveMeaning, performanceName } from "./meaning.ts";
import { kindOf } from "./parts.ts";

export type Value = number | null;

/** The data of a front, from the report or from test cases. */
export interface FrontSource {
  objectives: ObjectiveMeaning[];
  front_in: "measures" | "objectives";
  measures: string[];
  columns: Map<string, Value[]>;
  unmitigated: Map<string, Value>;
}

/** One column, with its better direction. */
export interface Column {
  name: string;
  values: Value[];
  largeIsBetter: boolean;
}

/** Stands for the unmitigated model, which is not on the front, in place of an index. */
export const UNMITIGATED = -1;

/** The name of the error rate in the measures that define a front. */
export const ERROR_RATE = "1 - accuracy";

/**
 * Whether a column, named without its split, is a measure. Other columns, such as the ends of intervals, have a dot
 * after the name of the measure.
 */
export function isMeasure(bare: string): boolean {
  return bare !== "probability_nondominated" && (/[)\]]$/.test(bare) || !bare.includes("."));
}

export function known(values: Value[]): number[] {
  return values.filter((v): v is number => v !== null);
}

/** Smallest and largest value, ignoring missing values. */
export function extent(values: Value[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) {
    if (v === null) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
}

/** How bad each model is, from 0 for the best of the front to 1 for the worst; 0 for all if they are equal. */
export function scaled(column: Column): Value[] {
  // Halves, so that no range overflows.
  const sign = column.largeIsBetter ? -0.5 : 0.5;
  const halves = column.values.map((v) => (v === null ? null : v * sign));
  const [low, high] = extent(halves);
  const range = high - low;
  return halves.map((v) => (v === null ? null : range > 0 ? (v - low) / range : 0));
}

/** Largest minus smallest value; 1 if all are equal. */
export function rangeOf(column: Column): number {
  const [low, high] = extent(column.values);
  return high - low > 0 ? high - low : 1;
}

export class Front {
  /** Names of the objectives, the loss first. */
  readonly objectives: string[];
  /** The objectives with their meaning. */
  readonly meant: ObjectiveMeaning[];
  readonly frontIn: "measures" | "objectives";
  readonly measures: string[];
  readonly unmitigated: Map<string, Value>;
  /** The splits that have rows. */
  readonly splits: Split[];
  /** The split on which models are chosen: validation rows, or training rows if there are none. */
  readonly split: Split;
  /** The split that sentences describe: test rows, or without them the split on which models are chosen. */
  readonly reporting: Split;
  readonly length: number;
  /** Indices of all models in the order that breaks ties: by the first objective on training rows, then by id. */
  readonly order: number[];
  readonly names: string[];
  private readonly columns: Map<string, Value[]>;

  constructor(source: FrontSource) {
    this.meant = source.objectives;
    this.objectives = source.objectives.map(({ name }) => name);
    this.frontIn = source.front_in;
    this.measures = source.measures;
    this.columns = source.columns;
    this.unmitigated = source.unmitigated;
    this.names = [...source.columns.keys()];
    const [first] = source.columns.values();
    this.length = first?.length ?? 0;
    this.splits = SPLITS.filter((split) => source.columns.has(`${split}.${performanceName()}`));
    this.split = this.splits.includes("validation") ? "validation" : "train";
    this.reporting = this.splits.includes("test") ? "test" : this.split;
    const loss = this.values(`objective.${this.objectives[0] ?? ""}`);
    const at = (i: number) => loss?.[i] ?? Infinity;
    this.order = Array.from({ length: this.length }, (_, i) => i);
    this.order.sort((a, b) => (at(a) === at(b) ? a - b : at(a) < at(b) ? -1 : 1));
  }

  /** Whether a model of the front has this index. */
  has(index: number): boolean {
    return Number.isInteger(index) && index >= 0 && index < this.length;
  }

  values(name: string): Value[] | undefined {
    return this.columns.get(name);
  }

  /** A value of a model, which may be the unmitigated model. */
  at(column: string, model: number): Value {
    const found = model === UNMITIGATED ? this.unmitigated.get(column) : this.columns.get(column)?.[model];
    return found ?? null;
  }

  /** The ends of a model's own 95% interval, or of the 95% band that holds for all models at once. */
  interval(column: string, model: number, kind: "own" | "band" = "own"): [number, number] | null {
    const prefix = kind === "band" ? "band_" : "";
    const [low, high] = [this.at(`${column}.${prefix}low`, model), this.at(`${column}.${prefix}high`, model)];
    return low === null || high === null ? null : [low, high];
  }

  /**
   * Whether no model differs measurably from the unmitigated model in a column, that is, the 95% interval of every
   * change includes 0. False without intervals, because then this is unknown.
   */
  withinNoise(column: string): boolean {
    const [lows, highs] = [this.values(`${column}.change_low`), this.values(`${column}.change_high`)];
    if (!lows || !highs) return false;
    let any = false;
    for (let i = 0; i < lows.length; i++) {
      const [low, high] = [lows[i] ?? null, highs[i] ?? null];
      if (low === null || high === null) continue;
      if (low > 0 || high < 0) return false;
      any = true;
    }
    return any;
  }

  column(name: string): Column | undefined {
    const values = this.columns.get(name);
    return values && { name, values, largeIsBetter: this.largeIsBetter(name) };
  }

  /** Whether larger values of a column are better. Objectives are minimized. */
  private largeIsBetter(column: string): boolean {
    const bare = column.slice(column.indexOf(".") + 1);
    if (column.startsWith("objective.") || bare.startsWith("objective.")) return false;
    return meaningOf(bare)?.better === "larger";
  }

  /** An objective's column; the name has no split for training rows. */
  objective(name: string, split: Split): Column | undefined {
    return this.column(split === "train" ? `objective.${name}` : `${split}.objective.${name}`);
  }

  /** The column that a term refers to, or an error message. */
  find(term: Term, first: "measure" | "objective"): Column | string {
    const name = canonical(term);
    if (term.split !== null && !this.splits.includes(term.split)) {
      return `the run has no ${term.split} rows; it has ${this.splits.join(", ")}`;
    }
    if (term.objective) {
      // As in column names, a name without a split refers to training rows.
      const found = this.objective(name, term.split ?? "train");
      return found ?? `the run has no objective ${name}; available: ${this.objectives.join(", ")}`;
    }
    const split = term.split ?? this.split;
    const measure = this.column(`${split}.${name}`);
    const objective = this.objective(name, split);
    const found = first === "measure" ? (measure ?? objective) : (objective ?? measure);
    return found ?? this.unknown(term, split);
  }

  /** Suggests the measure that a requirement on an objective is meant for. */
  measureFor(term: Term): string | null {
    const measure = meantBy(term.name);
    if (measure === undefined) return null;
    const name = canonical(term);
    const problem = `${name} is not a measure; write ${termText({ ...term, name: measure })}`;
    return this.objectives.includes(name) ? `${problem}, or objective.${name} to limit the objective` : problem;
  }

  /** The error message for an unknown name, with the names available. */
  private unknown(term: Term, split: Split): string {
    const measures = this.measuresOn(split);
    const names = [...measures, ...this.objectives];
    const kind = kindOf;
    // An objective and a measure may have the same name.
    const same = [...new Set(names.filter((name) => kind(name) === kind(term.name)))].slice(0, 6);
    const wanted = canonical(term);
    if (same.length > 0) return `the run has no ${wanted}; available: ${same.join(", ")}`;
    const meant = this.measureFor(term);
    if (meant !== null) return meant;
    const near = nearNames(term.name, [...new Set(names.map(kind))]);
    return `the run has no measure or objective ${JSON.stringify(term.name)}; ${near}`;
  }

  /** Names of the measures on a split, without the split. */
  measuresOn(split: Split): string[] {
    return this.names
      .filter((name) => name.startsWith(`${split}.`) && !name.startsWith(`${split}.objective.`))
      .map((name) => name.slice(split.length + 1))
      .filter(isMeasure);
  }

  /** The columns that define the front, on a split; smaller is better. */
  judgedBy(split: Split = this.split): Column[] {
    const column = (name: string): Column | undefined => {
      if (this.frontIn === "objectives") return this.objective(name, split);
      if (name !== ERROR_RATE) return this.column(`${split}.${name}`);
      const accuracy = this.column(`${split}.accuracy`);
      return (
        accuracy && {
          name: `${split}.${ERROR_RATE}`,
          values: accuracy.values.map((v) => (v === null ? null : 1 - v)),
          largeIsBetter: false,
        }
      );
    };
    const names = this.frontIn === "objectives" ? this.objectives : this.measures;
    return names.map((name) => {
      const found = column(name);
      if (!found) throw new Error(`the front has no column of ${name}; fit again`);
      return found;
    });
  }
}
