import assert from "node:assert/strict";
import { test } from "node:test";
import { Front } from "../src/front.ts";
import { endOf, isBeyond, isShownOn, modelsBeyond, type Overlay, valuesOf } from "../src/overlay.ts";
import { known } from "./known.ts";

known();

const measure = "demographic_parity_difference(sex)";
const bound: Overlay = {
  kind: "bound",
  label: "bound",
  split: "test",
  measures: ["error_rate", measure],
  points: [
    { values: [0.25, 0], low: [0.125, 0], high: [0.5, 0.125] },
    { values: [0.125, 0.5], low: [0.0625, 0.25], high: [0.25, 0.75] },
  ],
};

test("accuracy and error rate stand for each other", () => {
  assert.deepEqual(valuesOf(bound, "error_rate")?.[0], { value: 0.25, low: 0.125, high: 0.5 });
  assert.deepEqual(valuesOf(bound, "1 - accuracy")?.[0], { value: 0.25, low: 0.125, high: 0.5 });
  assert.deepEqual(valuesOf(bound, "accuracy")?.[0], { value: 0.75, low: 0.5, high: 0.875 });
  assert.deepEqual(valuesOf(bound, measure)?.[1], { value: 0.5, low: 0.25, high: 0.75 });
  assert.equal(valuesOf(bound, "demographic_parity_difference(race)"), null);
  const accurate: Overlay = { ...bound, measures: ["accuracy", measure] };
  assert.deepEqual(valuesOf(accurate, "error_rate")?.[0], { value: 0.75, low: 0.5, high: 0.875 });
  const short: Overlay = { ...bound, points: [{ values: [0.25] }] };
  assert.deepEqual(valuesOf(short, measure), [{ value: null, low: null, high: null }]);
});

test("an overlay belongs to plots of its measures on its rows", () => {
  assert.ok(isShownOn(bound, ["accuracy", measure], "test"));
  assert.ok(!isShownOn(bound, ["accuracy", measure], "train"));
  assert.ok(!isShownOn(bound, ["accuracy", "objective.error_rate"], "test"));
  const { split: _, ...everywhere } = bound;
  assert.ok(isShownOn(everywhere, ["accuracy", measure], "train"));
});

test("the better end of a band depends on the measure", () => {
  const banded = { value: 0.5, low: 0.25, high: 0.75 };
  assert.equal(endOf(banded, "accuracy", "better"), 0.75);
  assert.equal(endOf(banded, measure, "better"), 0.25);
  assert.equal(endOf(banded, measure, "worse"), 0.75);
  assert.equal(endOf({ value: 0.5, low: null, high: null }, measure, "better"), 0.5);
});

test("a point is beyond a line if it is better than a point of it in every measure", () => {
  // The same by trying many points of the line.
  const tried = (point: number[], from: number[], to: number[]) =>
    Array.from({ length: 2001 }, (_, i) => i / 2000).some((t) =>
      point.every((value, i) => value < (from[i] ?? 0) + t * ((to[i] ?? 0) - (from[i] ?? 0))),
    );
  const values = [-0.3, 0.1, 0.45, 0.7, 1.2];
  for (const x of values) {
    for (const y of values) {
      for (const [from, to] of [[[0, 1], [1, 0]], [[0.2, 0.6], [0.2, 0.1]], [[0.5, 0.5], [0.5, 0.5]], [[1, 1], [0, 0]]] as const) {
        const ends: [number[], number[]] = [[...from], [...to]];
        assert.equal(isBeyond([x, y], ...ends), tried([x, y], ...ends), `${x}, ${y} and ${from} to ${to}`);
      }
    }
  }
  assert.ok(!isBeyond([NaN, 0], [0, 1], [1, 0]));
  assert.ok(!isBeyond([0, 0], [NaN, 1], [1, 0]));
});

test("models beyond a bound are found on its rows", () => {
  const front = new Front({
    objectives: [{ name: "error_rate", measure: "accuracy", covariance: false }],
    front_in: "measures",
    measures: ["1 - accuracy", measure],
    columns: new Map([
      ["objective.error_rate", [0.1, 0.2, 0.3, 0.3]],
      ["train.accuracy", [0.99, 0.99, 0.99, 0.99]],
      [`train.${measure}`, [0, 0, 0, 0]],
      ["test.accuracy", [0.83, 0.8, 0.98, 0.9]],
      // The line has an error of 0.1875 at 0.25; the third model is beyond the band, too.
      [`test.${measure}`, [0.25, 0.25, 0.1, null]],
    ]),
    unmitigated: new Map(),
  });
  assert.deepEqual(modelsBeyond(front, bound, "train", "line"), [0, 2]);
  assert.deepEqual(modelsBeyond(front, bound, "test", "band"), [2]);
  const one: Overlay = { ...bound, points: [{ values: [0.5, 0.5] }] };
  assert.deepEqual(modelsBeyond(front, one, "test", "line"), [0, 1, 2]);
});
