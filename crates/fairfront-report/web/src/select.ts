// Which point is chosen, and how far the nearest is where none can be: as `fairfront select` does it.

import { extent, type Column, type Front, rangeOf, scaled, type Value } from "./front.ts";
import {
  canonical,
  type Comparator,
  type Requirement,
  requirementText,
  type Split,
  type Term,
  termText,
  UsageError,
} from "./grammar.ts";
import { knee } from "./knee.ts";
import { counted, grouped, plain, readable } from "./number.ts";
import { type Price, price } from "./price.ts";

/** How one point is chosen among those that meet the requirements. */
export type Rule =
  | { kind: "best"; term: Term }
  | { kind: "knee" }
  | { kind: "weights"; weights: [Term, number][] }
  | { kind: "regret" }
  | { kind: "id"; id: number };

/** A requirement at a point. */
export interface Miss {
  requirement: string;
  column: string;
  value: Value;
  met: boolean;
  /** How far the value is on the wrong side of its bound. */
  miss: Value;
}

export interface Selection {
  id: number;
  reason: string;
  split: Split;
  points: number;
  meeting: number[];
  requirements: Miss[];
  price: Price;
}

/** No point meets all requirements. */
export class Unmet extends Error {
  constructor(
    readonly points: number,
    /** The point whose largest miss, each scaled by its column's range over the front, is least. */
    readonly nearest: number,
    readonly misses: Miss[],
  ) {
    super(unmetText(points, nearest, misses));
  }
}

function unmetText(points: number, nearest: number, misses: Miss[]): string {
  const [first] = misses;
  const all =
    misses.length === 1
      ? (first?.requirement ?? "")
      : misses.length === 2
        ? "both requirements"
        : `all ${misses.length} requirements`;
  const none =
    points === 1 ? "the only point does not meet" : `none of ${grouped(points)} points meets`;
  const said = misses.map(({ requirement, column, value, met, miss }) => {
    if (value === null || miss === null) {
      return `${column} cannot be given there, which ${requirement} needs`;
    }
    return met
      ? `${column} is ${readable(value)}, which meets ${requirement}`
      : `${column} is ${readable(value)} and misses ${requirement} by ${readable(miss)}`;
  });
  return `${none} ${all}; point ${nearest} comes nearest: ${said.join("; ")}`;
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

/** The points that meet all requirements, in the order of ties. */
export function meetingOf(front: Front, requirements: Requirement[]): number[] {
  const bounds = boundsOf(front, requirements);
  return front.order.filter((point) =>
    requirements.every(({ comparator, bound }, i) => {
      const value = bounds[i]?.values[point] ?? null;
      return value !== null && holds(comparator, value, bound);
    }),
  );
}

function boundsOf(front: Front, requirements: Requirement[]): Column[] {
  return requirements.map((requirement) => {
    const { term, comparator } = requirement;
    // A covariance of at least so much is meant for the ratio or rate that has this name elsewhere.
    const objective = front.meant.find(({ name }) => name === canonical(term));
    const other = comparator.startsWith(">") && !term.objective && (objective?.covariance ?? false);
    const found = (other ? front.measureFor(term) : null) ?? front.find(term, "measure");
    if (typeof found === "string") {
      throw usage("--require", requirementText(requirement), found);
    }
    return found;
  });
}

/** All requirements at a point. */
export function missesAt(front: Front, requirements: Requirement[], point: number): Miss[] {
  const bounds = boundsOf(front, requirements);
  return requirements.map((requirement, i) => {
    const { comparator, bound } = requirement;
    const column = bounds[i] as Column;
    const value = column.values[point] ?? null;
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
 * Chooses a point. Of equally good ones it is the one with the better first objective on training rows,
 * then the one with the smaller id.
 */
export function select(front: Front, requirements: Requirement[], rule: Rule): Selection {
  if (front.length === 0) throw new Error("the front has no points; fit again");
  const meeting = meetingOf(front, requirements);
  if (meeting.length === 0) {
    const nearest = nearestOf(front, requirements);
    throw new Unmet(front.length, nearest, missesAt(front, requirements, nearest));
  }
  const [id, why] = choose(front, meeting, rule);
  const all = requirements.map(requirementText).join(" and ");
  const among =
    requirements.length === 0
      ? `of ${counted(front.length, "point")}`
      : `of the ${grouped(meeting.length)} of ${counted(front.length, "point")} that meet ${all}`;
  return {
    id,
    reason: rule.kind === "id" ? why : `${why}, ${among}`,
    split: front.split,
    points: front.length,
    meeting,
    requirements: missesAt(front, requirements, id),
    price: price(front, id),
  };
}

/** The point with the least largest miss; one that has no value misses by more than any that has. */
function nearestOf(front: Front, requirements: Requirement[]): number {
  const ranges = boundsOf(front, requirements).map(rangeOf);
  const largest = (point: number) =>
    missesAt(front, requirements, point).reduce((most, { miss }, i) => {
      return Math.max(most, miss === null ? Infinity : miss / (ranges[i] ?? 1));
    }, 0);
  return firstLeast(front.order, largest)?.[0] ?? 0;
}

/** The first of the points with the least value. */
function firstLeast(
  points: number[],
  value: (point: number) => Value,
): [point: number, value: number] | null {
  let best: [number, number] | null = null;
  for (const point of points) {
    const own = value(point);
    if (own !== null && (best === null || own < best[1])) best = [point, own];
  }
  return best;
}

function choose(front: Front, points: number[], rule: Rule): [id: number, why: string] {
  switch (rule.kind) {
    case "id":
      if (Number.isInteger(rule.id) && rule.id >= 0 && rule.id < front.length) {
        return [rule.id, "asked for by its id"];
      }
      throw new UsageError(
        `--id ${rule.id}: there is no such point; the front has ids 0 to ${front.length - 1}`,
      );
    case "best":
      return best(front, points, rule.term);
    case "knee":
      return atKnee(front, points);
    case "weights":
      return weighted(front, points, rule.weights);
    case "regret":
      return leastRegret(front, points);
  }
}

function best(front: Front, points: number[], term: Term): [number, string] {
  const column = front.find(term, "measure");
  if (typeof column === "string") throw usage("--best", termText(term), column);
  const sign = column.largeIsBetter ? -1 : 1;
  const found = firstLeast(points, (point) => {
    const value = column.values[point] ?? null;
    return value === null ? null : sign * value;
  });
  if (found === null) throw noValue([column]);
  const word = column.largeIsBetter ? "highest" : "lowest";
  return [found[0], `the ${word} ${column.name}, ${readable(sign * found[1])}`];
}

function atKnee(front: Front, points: number[]): [number, string] {
  const columns = front.judgedBy();
  // Points with an infinite value take no part.
  const values = points.map((point) => columns.map((c) => c.values[point] ?? Infinity));
  const found = knee(values);
  if (found === null) throw noValue(columns);
  return [points[found] ?? 0, `the knee in ${namesOf(columns)}`];
}

function weighted(front: Front, points: number[], weights: [Term, number][]): [number, string] {
  const columns = weights.map(([term]) => {
    const column = front.find(term, "objective");
    if (typeof column === "string") throw usage("--weights", termText(term), column);
    return column;
  });
  const all = columns.map(scaled);
  const found = firstLeast(points, (point) => {
    let sum = 0;
    for (let i = 0; i < all.length; i++) {
      const value = all[i]?.[point] ?? null;
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

function leastRegret(front: Front, points: number[]): [number, string] {
  const columns = front.judgedBy();
  const all = columns.map(scaled);
  const found = firstLeast(points, (point) => {
    let worst = 0;
    for (const column of all) {
      const value = column[point] ?? null;
      if (value === null) return null;
      worst = Math.max(worst, value);
    }
    return worst;
  });
  if (found === null) throw noValue(columns);
  const share = readable(found[1]);
  return [
    found[0],
    `the least worst-case regret, ${share} of the front's range in any of ${namesOf(columns)}`,
  ];
}

function namesOf(columns: Column[]): string {
  return columns.map((c) => c.name).join(", ");
}

function noValue(columns: Column[]): Error {
  const names = columns.map((c) => c.name).join(" and ");
  return new Error(
    `no point to choose from has a value of ${names}, which these rows cannot give; choose by something ` +
      "else, or by a measure on other rows, as in --best train.accuracy (train, validation, test)",
  );
}

/** Whether a column tells points apart at all. */
export function varies(values: Value[]): boolean {
  const [low, high] = extent(values);
  return high > low;
}
