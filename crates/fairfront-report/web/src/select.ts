// Chooses a model by a rule, or finds the nearest one if no model meets the requirements, as `fairfront select` does.

import { extent, type Column, type Front, rangeOf, scaled, type Value } from "./front.ts";
import {
  type Comparator,
  type Requirement,
  requirementText,
  type Split,
  type Term,
  termText,
  UsageError,
} from "./grammar.ts";
import { knee } from "./knee.ts";
import { performanceName } from "./meaning.ts";
import { idOf, indexOf, type ModelId } from "./modelId.ts";
import { counted, grouped, plain, readable } from "./number.ts";
import { type Price, price } from "./price.ts";

/** How to choose among the models that meet the requirements. */
export type Rule =
  | { kind: "best"; term: Term }
  | { kind: "knee" }
  | { kind: "weights"; weights: [Term, number][] }
  | { kind: "regret" }
  | { kind: "id"; id: ModelId };

/** A requirement checked for one model. */
export interface Miss {
  requirement: string;
  column: string;
  value: Value;
  met: boolean;
  /** How far the value is on the wrong side of its bound. */
  miss: Value;
}

export interface Selection {
  /** The index of the selected model. */
  model: number;
  reason: string;
  split: Split;
  models: number;
  /** Indices of the models that meet all requirements. */
  meeting: number[];
  requirements: Miss[];
  price: Price;
}

/** No model meets all requirements. */
export class Unmet extends Error {
  constructor(
    readonly models: number,
    /** The index of the model whose largest miss, each scaled by its column's range over the front, is least. */
    readonly nearest: number,
    readonly misses: Miss[],
  ) {
    super(unmetText(models, nearest, misses));
  }
}

function unmetText(models: number, nearest: number, misses: Miss[]): string {
  const [first] = misses;
  const all =
    misses.length === 1
      ? (first?.requirement ?? "")
      : misses.length === 2
        ? "both requirements"
        : `all ${misses.length} requirements`;
  const none =
    models === 1 ? "the only model does not meet" : `none of the ${grouped(models)} models meets`;
  const said = misses.map(({ requirement, column, value, met, miss }) => {
    if (value === null || miss === null) {
      return `${column} is undefined, so ${requirement} is not met`;
    }
    return met
      ? `${column} is ${readable(value)}, which meets ${requirement}`
      : `${column} is ${readable(value)} and misses ${requirement} by ${readable(miss)}`;
  });
  return `${none} ${all}; model ${idOf(nearest)} comes nearest: ${said.join("; ")}`;
}

function holds(comparator: Comparator, value: number, bound: number): boolean {
  switch (comparator) {
    case "<=":
      return value <= bound;
    case ">=":
      return value >= bound;
    case "<":
      return value < bound;
    case ">":
      return value > bound;
  }
}

function missOf(comparator: Comparator, value: number, bound: number): number {
  const upper = comparator === "<=" || comparator === "<";
  return Math.max(upper ? value - bound : bound - value, 0);
}

function usage(flag: string, text: string, problem: string): UsageError {
  return new UsageError(`${flag} ${JSON.stringify(text)}: ${problem}`);
}

/** The models that meet all requirements, in the order that breaks ties. */
export function meetingOf(front: Front, requirements: Requirement[]): number[] {
  const bounds = boundsOf(front, requirements);
  return front.order.filter((model) =>
    requirements.every(({ comparator, bound }, i) => {
      const value = bounds[i]?.values[model] ?? null;
      return value !== null && holds(comparator, value, bound);
    }),
  );
}

function boundsOf(front: Front, requirements: Requirement[]): Column[] {
  return requirements.map((requirement) => {
    const found = front.find(requirement.term, "measure");
    if (typeof found === "string") {
      throw usage("--require", requirementText(requirement), found);
    }
    return found;
  });
}

/** All requirements, checked for one model. */
export function missesAt(front: Front, requirements: Requirement[], model: number): Miss[] {
  const bounds = boundsOf(front, requirements);
  return requirements.map((requirement, i) => {
    const { comparator, bound } = requirement;
    const column = bounds[i] as Column;
    const value = column.values[model] ?? null;
    return {
      requirement: requirementText(requirement),
      column: column.name,
      value,
      met: value !== null && holds(comparator, value, bound),
      miss: value === null ? null : missOf(comparator, value, bound),
    };
  });
}

/**
 * Chooses a model. Ties go to the model with the better first objective on training rows, then to the
 * smaller id.
 */
export function select(front: Front, requirements: Requirement[], rule: Rule): Selection {
  if (front.length === 0) throw new Error("the front has no models; fit again");
  const meeting = meetingOf(front, requirements);
  if (meeting.length === 0) {
    const nearest = nearestOf(front, requirements);
    throw new Unmet(front.length, nearest, missesAt(front, requirements, nearest));
  }
  const [model, why] = choose(front, meeting, rule);
  const all = requirements.map(requirementText).join(" and ");
  const among =
    requirements.length === 0
      ? `of ${counted(front.length, "model")}`
      : `of the ${grouped(meeting.length)} of ${counted(front.length, "model")} that meet ${all}`;
  return {
    model,
    reason: rule.kind === "id" ? why : `${why}, ${among}`,
    split: front.split,
    models: front.length,
    meeting,
    requirements: missesAt(front, requirements, model),
    price: price(front, model),
  };
}

/** The model with the smallest largest miss; an undefined value counts as an infinite miss. */
function nearestOf(front: Front, requirements: Requirement[]): number {
  const ranges = boundsOf(front, requirements).map(rangeOf);
  const largest = (model: number) =>
    missesAt(front, requirements, model).reduce((most, { miss }, i) => {
      return Math.max(most, miss === null ? Infinity : miss / (ranges[i] ?? 1));
    }, 0);
  return firstLeast(front.order, largest)?.[0] ?? 0;
}

/** The first model with the least value. */
function firstLeast(
  models: number[],
  value: (model: number) => Value,
): [model: number, value: number] | null {
  let best: [number, number] | null = null;
  for (const model of models) {
    const own = value(model);
    if (own !== null && (best === null || own < best[1])) best = [model, own];
  }
  return best;
}

function choose(front: Front, models: number[], rule: Rule): [model: number, why: string] {
  switch (rule.kind) {
    case "id":
      if (front.has(indexOf(rule.id))) return [indexOf(rule.id), "chosen by its id"];
      throw new UsageError(
        `--model-id ${rule.id}: the front has no such model; choose one of 1 to ${idOf(front.length - 1)}`,
      );
    case "best":
      return best(front, models, rule.term);
    case "knee":
      return atKnee(front, models);
    case "weights":
      return weighted(front, models, rule.weights);
    case "regret":
      return leastRegret(front, models);
  }
}

function best(front: Front, models: number[], term: Term): [number, string] {
  const column = front.find(term, "measure");
  if (typeof column === "string") throw usage("--best", termText(term), column);
  const sign = column.largeIsBetter ? -1 : 1;
  const found = firstLeast(models, (model) => {
    const value = column.values[model] ?? null;
    return value === null ? null : sign * value;
  });
  if (found === null) throw noValue([column]);
  const word = column.largeIsBetter ? "highest" : "lowest";
  return [found[0], `the ${word} ${column.name}, ${readable(sign * found[1])}`];
}

function atKnee(front: Front, models: number[]): [number, string] {
  const columns = front.judgedBy();
  // Models with an infinite value are ignored.
  const values = models.map((model) => columns.map((c) => c.values[model] ?? Infinity));
  const found = knee(values);
  if (found === null) throw noValue(columns);
  return [models[found] ?? 0, `the knee in ${namesOf(columns)}`];
}

function weighted(front: Front, models: number[], weights: [Term, number][]): [number, string] {
  const columns = weights.map(([term]) => {
    const column = front.find(term, "objective");
    if (typeof column === "string") throw usage("--weights", termText(term), column);
    return column;
  });
  const all = columns.map(scaled);
  const found = firstLeast(models, (model) => {
    let sum = 0;
    for (let i = 0; i < all.length; i++) {
      const value = all[i]?.[model] ?? null;
      if (value === null) return null;
      sum += (weights[i]?.[1] ?? 0) * value;
    }
    return sum;
  });
  if (found === null) throw noValue(columns);
  const said = columns.map((c, i) => `${plain(weights[i]?.[1] ?? 0)} × ${c.name}`).join(" + ");
  const why = `the least weighted sum, ${readable(found[1])}: ${said}, each from 0 to 1 over the front`;
  return [found[0], why];
}

function leastRegret(front: Front, models: number[]): [number, string] {
  const columns = front.judgedBy();
  const all = columns.map(scaled);
  const found = firstLeast(models, (model) => {
    let worst = 0;
    for (const column of all) {
      const value = column[model] ?? null;
      if (value === null) return null;
      worst = Math.max(worst, value);
    }
    return worst;
  });
  if (found === null) throw noValue(columns);
  const share = readable(found[1]);
  return [
    found[0],
    `the least worst-case regret, at most ${share} of the front's range in each of ${namesOf(columns)}`,
  ];
}

function namesOf(columns: Column[]): string {
  return columns.map((c) => c.name).join(", ");
}

function noValue(columns: Column[]): Error {
  const names = columns.map((c) => c.name).join(" and ");
  return new Error(
    `no model to choose from has a defined ${names} on these rows; choose by another measure, or choose ` +
      `by a measure on other rows, such as --best train.${performanceName()} (train, validation, test)`,
  );
}

/** Whether a column has different values. */
export function varies(values: Value[]): boolean {
  const [low, high] = extent(values);
  return high > low;
}
