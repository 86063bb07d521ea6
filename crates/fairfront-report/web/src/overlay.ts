// Values that plots show next to the models: an estimated bound, thresholds by group, and scores of the user.

import { ERROR_RATE, type Front, type Value } from "./front.ts";
import type { Split } from "./grammar.ts";
import { columnOf, direction, type Measure } from "./label.ts";

/** An overlay, as `run.json` stores it. */
export interface Overlay {
  kind: "bound" | "by-group" | "score";
  label: string;
  /** The split whose rows have these values; absent if they hold for all. */
  split?: string;
  measures: string[];
  /** The points, in the order of the line through them. */
  points: OverlayPoint[];
}

export interface OverlayPoint {
  /** One value per measure. */
  values: Value[];
  /** The ends of a band, one per measure; absent without a band. */
  low?: Value[];
  high?: Value[];
  name?: string;
}

/** A value with the ends of its band. */
export interface Banded {
  value: Value;
  low: Value;
  high: Value;
}

const ERROR_NAMES = ["error_rate", ERROR_RATE];

/** The position of a measure in an overlay, and whether the overlay has one minus the measure. */
function position(overlay: Overlay, measure: Measure): { at: number; flipped: boolean } | null {
  const find = (names: string[]) => overlay.measures.findIndex((name) => names.includes(name));
  const [own, opposite] = ERROR_NAMES.includes(measure)
    ? [ERROR_NAMES, ["accuracy"]]
    : measure === "accuracy"
      ? [["accuracy"], ERROR_NAMES]
      : [[measure], []];
  const at = find(own);
  if (at >= 0) return { at, flipped: false };
  const other = find(opposite);
  return other < 0 ? null : { at: other, flipped: true };
}

/**
 * The values of a measure, with the ends of their band; `null` if the overlay does not have the measure. The error rate
 * and the accuracy stand for each other, with the ends of the band exchanged.
 */
export function valuesOf(overlay: Overlay, measure: Measure): Banded[] | null {
  const found = position(overlay, measure);
  if (found === null) return null;
  const { at, flipped } = found;
  return overlay.points.map(({ values, low, high }) => {
    const [value, least, most] = [values, low, high].map((all) => all?.[at] ?? null);
    const other = (v: Value | undefined) => (v === null || v === undefined ? null : 1 - v);
    return flipped
      ? { value: other(value), low: other(most), high: other(least) }
      : { value: value ?? null, low: least ?? null, high: most ?? null };
  });
}

/** Whether an overlay belongs to plots of these measures on this split. */
export function isShownOn(overlay: Overlay, measures: Measure[], split: Split): boolean {
  const isOn = overlay.split === undefined || overlay.split === split;
  return isOn && measures.every((measure) => valuesOf(overlay, measure) !== null);
}

/** The end of a band on the better or the worse side of a measure; the value itself without a band. */
export function endOf({ value, low, high }: Banded, measure: Measure, side: "better" | "worse"): Value {
  const takesHigh = (direction(measure) === "large") === (side === "better");
  return (takesHigh ? high : low) ?? value;
}

/** The measures of an overlay, as columns of the front name them. */
function comparedMeasures({ measures }: Overlay): Measure[] {
  return measures.map((name) => (ERROR_NAMES.includes(name) ? "accuracy" : name));
}

/** Whether a point is better in every measure than some point between two others; smaller is better. */
export function isBeyond(point: number[], from: number[], to: number[]): boolean {
  // In each measure, the shares t of the way that leave the point better form an interval.
  let [low, high] = [0, 1];
  for (const [i, value] of point.entries()) {
    const [a, b] = [from[i] ?? NaN, to[i] ?? NaN];
    const step = b - a;
    if (step === 0) {
      if (!(value < a)) return false;
      continue;
    }
    const at = (value - a) / step;
    if (!Number.isFinite(at)) return false;
    if (step > 0) low = Math.max(low, at);
    else high = Math.min(high, at);
  }
  return low < high;
}

/**
 * The models that are better in every measure than some interpolated point of an overlay, on the rows of the overlay. For
 * bands, the worse ends of the models' bands must be better than the better side of the overlay's band.
 */
export function modelsBeyond(front: Front, overlay: Overlay, shown: Split, of: "line" | "band"): number[] {
  const split = (overlay.split ?? shown) as Split;
  const measures = comparedMeasures(overlay);
  const columns = measures.map((measure) => {
    const end = direction(measure) === "large" ? "band_low" : "band_high";
    const ends = of === "band" ? front.values(`${split}.${measure}.${end}`) : undefined;
    return ends ?? columnOf(front, measure, split)?.values;
  });
  const all = measures.map((measure) => valuesOf(overlay, measure) ?? []);
  const signs = measures.map((measure) => (direction(measure) === "large" ? -1 : 1));
  const signed = (value: Value | undefined, i: number) => (value ?? NaN) * (signs[i] ?? 1);
  const line = overlay.points.map((_, point) =>
    measures.map((measure, i) => {
      const banded = all[i]?.[point] ?? { value: null, low: null, high: null };
      return signed(of === "line" ? banded.value : endOf(banded, measure, "better"), i);
    }),
  );
  const segments = line.length === 1 ? [[line[0] ?? [], line[0] ?? []]] : line.slice(1).map((to, i) => [line[i] ?? [], to]);
  const isBetter = (model: number) => {
    const own = columns.map((values, i) => signed(values?.[model], i));
    return segments.some(([from = [], to = []]) => isBeyond(own, from, to));
  };
  return front.order.filter(isBetter).sort((a, b) => a - b);
}
