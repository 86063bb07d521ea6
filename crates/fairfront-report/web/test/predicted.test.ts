// Targets that are numbers: values in their unit, tracks, sentences and distributions.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { averageStatements } from "../src/average.ts";
import { largestDifference, sharesOf, thresholds } from "../src/distribution.ts";
import { Front, type Value } from "../src/front.ts";
import { explain, intervalText, unitText, valueText, words } from "../src/label.ts";
import { type MeasureMeaning, setMeaning, targetDigits } from "../src/meaning.ts";
import { inTarget } from "../src/number.ts";
import { Track } from "../src/rate.ts";

const text = readFileSync("../../fairfront-run/cases/select.json", "utf8");
const { measures_of_numbers: measures } = JSON.parse(text) as { measures_of_numbers: Record<string, MeasureMeaning> };

/** Salaries in a unit with this standard deviation. */
function salaries(scale: number): void {
  const number = { center: 50_000, scale, range: [0, 200_000] as [number, number], thresholds: [-1, 0, 0.5] };
  setMeaning({ target: { number }, performance: "rmse", objectives: [], measures });
}

beforeEach(() => salaries(18_000));

test("numbers in the unit of the target have commas and no minus before 0", () => {
  const cases: [number, number, string][] = [
    [-54321.06, 1, "-54,321.1"],
    [-0.001, 2, "0.00"],
    [999.5, 0, "1,000"],
    [0.125, 2, "0.12"],
    [123456789.4, 0, "123,456,789"],
    [2.5e20, 0, "2.50e20"],
  ];
  for (const [value, digits, expected] of cases) assert.equal(inTarget(value, digits), expected);
});

test("the digits of values follow the standard deviation of the target", () => {
  for (const [scale, digits] of [[18_000, 0], [100, 0], [99, 1], [2.86, 2], [0.8, 3], [1e-9, 6]] as const) {
    salaries(scale);
    assert.equal(targetDigits(), digits);
  }
  salaries(2.86);
  assert.equal(valueText("rmse", 2.1849), "2.18");
  assert.equal(valueText("r2", 0.41174), "0.4117");
  assert.equal(valueText("distribution_difference(sex)", 0.25), "0.2500");
  // Objectives are in standard deviations.
  assert.equal(valueText("objective.mean_difference(sex)", 0.38), "0.3800");
  assert.equal(intervalText("mean_difference(sex)", [-0.001, 1.2345]), "0.00 to 1.23");
});

test("measures in the unit of the target name it", () => {
  assert.equal(words("worst_group_rmse(sex)"), "worst group RMSE (sex)");
  assert.equal(unitText("rmse", "salary"), ", in salary");
  assert.equal(unitText("r2", "salary"), "");
  assert.equal(unitText("objective.mean_difference(sex)", "salary"), "");
  assert.match(explain("mean_prediction(sex=F)") ?? "", /^the mean of the predictions, in the group$/);
});

function frontOf(columns: Record<string, Value[]>, unmitigated: Record<string, Value> = {}): Front {
  const all = { "objective.squared_error": [0.5], "test.rmse": [9000], ...columns };
  return new Front({
    objectives: [{ name: "squared_error", measure: "rmse", covariance: false }],
    front_in: "objectives",
    measures: [],
    columns: new Map(Object.entries(all)),
    unmitigated: new Map(Object.entries(unmitigated)),
  });
}

test("mean predictions of groups are compared with the target", () => {
  const columns: Record<string, Value[]> = {
    "test.mean_prediction(sex=F)": [48_000.4],
    "test.mean_prediction(sex=F).low": [47_500],
    "test.mean_prediction(sex=F).high": [48_501],
    "test.mean_target(sex=F)": [47_000],
    "test.mean_prediction(sex=M)": [52_000],
    "test.mean_target(sex=M)": [52_000.3],
    "test.mean_prediction(sex=X)": [null],
    "test.mean_target(sex=X)": [null],
  };
  const front = frontOf(columns, { "test.mean_prediction(sex=F)": 46_000 });
  const said = averageStatements(front, 0, { name: "sex", groups: ["F", "M", "X"] }, "salary");
  assert.deepEqual(
    said.map((statement) => statement.text),
    [
      "for sex = F, the mean prediction is 48,000 (47,500 to 48,501), 1,000 above the mean of salary, 47,000; unmitigated: 46,000",
      "for sex = M, the mean prediction is 52,000, equal to the mean of salary",
    ],
  );
});

test("distributions are read at the thresholds of the unit", () => {
  assert.deepEqual(thresholds(), [32_000, 50_000, 59_000]);
  const columns: Record<string, Value[]> = {
    "distribution.01(sex=F)": [0.25],
    "distribution.02(sex=F)": [0.75],
    "distribution.03(sex=F)": [1],
    "distribution.01(sex=M)": [0.125],
    "distribution.02(sex=M)": [0.25],
    "distribution.03(sex=M)": [null],
  };
  const front = frontOf(columns);
  assert.deepEqual(sharesOf(front, 0, "sex", "F"), [0.25, 0.75, 1]);
  assert.equal(sharesOf(front, 0, "sex", "M"), null);
  assert.deepEqual(largestDifference([[0.25, 0.75, 1], [0.125, 0.25, 0.875]]), { at: 1, low: 0.25, high: 0.75 });
  assert.equal(largestDifference([]), null);
});

test("tracks place values", () => {
  const both = (own: number, interval: [number, number] | null = null) => ({ own, before: null, interval });
  const signed = new Track("signed", [both(-2), both(1, [-1, 4])]);
  assert.equal(signed.place(0), "50.00%");
  assert.deepEqual(signed.span(0, -2), { left: "25.00%", width: "25.00%" });
  const dots = new Track("dot", [both(100), both(200)]);
  assert.equal(dots.place(150), "50.00%");
  assert.ok(Number.parseFloat(dots.place(100)) > 0);
  // Equal values are in the middle.
  assert.equal(new Track("dot", [both(7)]).place(7), "50.00%");
  const share = new Track("share", [both(0.5)]);
  assert.deepEqual([share.place(0.5), share.place(2)], ["50.00%", "100.00%"]);
  assert.equal(new Track("amount", [both(3), both(1)]).place(1), "33.33%");
});
