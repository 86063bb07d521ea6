// The columns of a front, by name, as a selection sees them.

import { canonical, nearNames, termText, SPLITS, type Split, type Term } from "./grammar.ts";
import { kindOf, meaningOf, meantBy, type ObjectiveMeaning } from "./meaning.ts";

export type Value = number | null;

/** What the cases and the page say of a front. */
export interface FrontSource {
  objectives: ObjectiveMeaning[];
  front_in: "measures" | "objectives";
  measures: string[];
  columns: Map<string, Value[]>;
  unmitigated: Map<string, Value>;
}

/** One column, with the side on which it is better. */
export interface Column {
  name: string;
  values: Value[];
  largeIsBetter: boolean;
}

/** The id of the unmitigated model, which is not on the front. */
export const UNMITIGATED = -1;

/** The name that judged measures have for the share of wrong decisions. */
export const ERROR_RATE = "1 - accuracy";

/**
 * Whether a column, named without its split, is a measure itself and not the end of an interval or the like,
 * which has a point after the measure's name.
 */
export function isMeasure(bare: string): boolean {
  return bare !== "probability_nondominated" && (bare.endsWith(")") || !bare.includes("."));
}

export function known(values: Value[]): number[] {
  return values.filter((v): v is number => v !== null);
}

/** Smallest and largest of the values there are. */
export function extent(values: Value[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) {
    if (v === null) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
}

/** How bad each point is, from 0 for the best of the front to 1 for the worst; 0 where all are alike. */
export function scaled(column: Column): Value[] {
  // Halves, so that no range is too wide for a number.
  const sign = column.largeIsBetter ? -0.5 : 0.5;
  const halves = column.values.map((v) => (v === null ? null : v * sign));
  const [low, high] = extent(halves);
  const range = high - low;
  return halves.map((v) => (v === null ? null : range > 0 ? (v - low) / range : 0));
}

/** Largest minus smallest value; 1 where there is no difference. */
export function rangeOf(column: Column): number {
  const [low, high] = extent(column.values);
  return high - low > 0 ? high - low : 1;
}

export class Front {
  /** Names of the objectives, the loss first. */
  readonly objectives: string[];
  /** The same with their meaning. */
  readonly meant: ObjectiveMeaning[];
  readonly frontIn: "measures" | "objectives";
  readonly measures: string[];
  readonly unmitigated: Map<string, Value>;
  /** The splits that have rows. */
  readonly splits: Split[];
  /** The rows that choices are made on: validation rows, training rows where there are none. */
  readonly split: Split;
  /** The rows that sentences are about: test rows, or those that choices are made on without them. */
  readonly reporting: Split;
  readonly length: number;
  /** All points: the better first objective on training rows first, then the smaller id. */
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
    this.splits = SPLITS.filter((split) => source.columns.has(`${split}.accuracy`));
    this.split = this.splits.includes("validation") ? "validation" : "train";
    this.reporting = this.splits.includes("test") ? "test" : this.split;
    const loss = this.values(`objective.${this.objectives[0] ?? ""}`);
    const at = (i: number) => loss?.[i] ?? Infinity;
    this.order = Array.from({ length: this.length }, (_, i) => i);
    this.order.sort((a, b) => (at(a) === at(b) ? a - b : at(a) < at(b) ? -1 : 1));
  }

  values(name: string): Value[] | undefined {
    return this.columns.get(name);
  }

  /** A value of a model, which may be the unmitigated one. */
  at(column: string, model: number): Value {
    const found = model === UNMITIGATED ? this.unmitigated.get(column) : this.columns.get(column)?.[model];
    return found ?? null;
  }

  /** The ends of a model's 95% interval: its own, or of the band that holds for all models at once. */
  interval(column: string, model: number, kind: "own" | "band" = "own"): [number, number] | null {
    const prefix = kind === "band" ? "band_" : "";
    const [low, high] = [this.at(`${column}.${prefix}low`, model), this.at(`${column}.${prefix}high`, model)];
    return low === null || high === null ? null : [low, high];
  }

  /**
   * Whether no model differs measurably from the unmitigated one in a column: the 95% interval of every
   * change includes 0. Without intervals nothing is known, which is not the same.
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

  /** An objective's column; that of training rows has no split in its name. */
  objective(name: string, split: Split): Column | undefined {
    return this.column(split === "train" ? `objective.${name}` : `${split}.objective.${name}`);
  }

  /** The column that a term means, or why there is none. */
  find(term: Term, first: "measure" | "objective"): Column | string {
    const name = canonical(term);
    if (term.split !== null && !this.splits.includes(term.split)) {
      return `the run has no ${term.split} rows; it has ${this.splits.join(", ")}`;
    }
    if (term.objective) {
      // As the column is called: without a split it is that of training rows.
      const found = this.objective(name, term.split ?? "train");
      return found ?? `there is no objective ${name}; there is ${this.objectives.join(", ")}`;
    }
    const split = term.split ?? this.split;
    const measure = this.column(`${split}.${name}`);
    const objective = this.objective(name, split);
    const found = first === "measure" ? (measure ?? objective) : (objective ?? measure);
    return found ?? this.unknown(term, split);
  }

  /** The measure that a requirement on an objective is meant for. */
  measureFor(term: Term): string | null {
    const measure = meantBy(term.name);
    if (measure === undefined) return null;
    const name = canonical(term);
    const problem = `${name} is not a measure; write ${termText({ ...term, name: measure })}`;
    return this.objectives.includes(name) ? `${problem}, or objective.${name} to limit the objective` : problem;
  }

  /** Says what there is instead. */
  private unknown(term: Term, split: Split): string {
    const measures = this.measuresOn(split);
    const names = [...measures, ...this.objectives];
    const kind = kindOf;
    // An objective may have the name of its measure.
    const alike = [...new Set(names.filter((name) => kind(name) === kind(term.name)))].slice(0, 6);
    const wanted = canonical(term);
    if (alike.length > 0) return `there is no ${wanted}; there is ${alike.join(", ")}`;
    const meant = this.measureFor(term);
    if (meant !== null) return meant;
    const near = nearNames(term.name, [...new Set(names.map(kind))]);
    return `there is no measure or objective ${JSON.stringify(term.name)}; ${near}`;
  }

  /** Names of the measures on a split, without it. */
  measuresOn(split: Split): string[] {
    return this.names
      .filter((name) => name.startsWith(`${split}.`) && !name.startsWith(`${split}.objective.`))
      .map((name) => name.slice(split.length + 1))
      .filter(isMeasure);
  }

  /** What the front was judged by, on some rows; the smaller, the better. */
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
