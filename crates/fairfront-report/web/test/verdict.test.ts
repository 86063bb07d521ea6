import assert from "node:assert/strict";
import { test } from "node:test";
import type { Certificate, PageData } from "../src/data.ts";
import { Front, UNMITIGATED } from "../src/front.ts";
import { parseRequirement } from "../src/grammar.ts";
import { verdictOf } from "../src/verdict.ts";
import { known } from "./known.ts";

known();

const measure = "demographic_parity_difference(sex)";
const front = new Front({
  objectives: [
    { name: "error_rate", measure: "accuracy", covariance: false },
    { name: "demographic_parity(sex)", measure, covariance: false },
  ],
  front_in: "measures",
  measures: ["1 - accuracy", measure],
  columns: new Map([
    ["objective.error_rate", [0.1, 0.2]],
    ["train.accuracy", [0.9, 0.8]],
    ["test.accuracy", [0.9, 0.8]],
    ["test.accuracy.band_low", [0.88, 0.78]],
    ["test.accuracy.band_high", [0.92, 0.82]],
    [`test.${measure}`, [0.2, 0.04]],
    [`test.${measure}.band_low`, [0.15, 0.01]],
    [`test.${measure}.band_high`, [0.25, 0.07]],
  ]),
  unmitigated: new Map([[`test.${measure}`, 0.2], [`test.${measure}.band_low`, 0.15], [`test.${measure}.band_high`, 0.25]]),
});
const certificate: Certificate = {
  requirements: [`${measure}<=0.05`, "accuracy >= 0.7"],
  confidence: 0.95,
  test: "score",
  stated: "before",
  rows: { split: "test", count: 5853, fingerprint: "" },
  front_sha256: "",
  use: 1,
  level: 0.05,
  certified: [1],
};
const data = { front, certificates: [certificate] } as unknown as PageData;
const verdict = (text: string, model: number) => verdictOf(data, parseRequirement(text), model);

test("a certificate for exactly this requirement decides", () => {
  const found = verdict(`${measure} <= 0.05`, 1);
  assert.equal(found.verdict, "certified");
  assert.equal(found.why, "by score tests on 5,853 test rows at 95% confidence (use 1)");
  // A certificate does not cover another limit.
  assert.equal(verdict(`${measure} <= 0.06`, 1).verdict, "not certified");
});

test("without a certificate, the band of all models decides", () => {
  assert.equal(verdict(`${measure} <= 0.07`, 1).verdict, "certified");
  assert.match(verdict(`${measure} <= 0.07`, 1).why, /band of all models, 0\.010 to 0\.070, keeps the limit/);
  assert.equal(verdict(`${measure} < 0.07`, 1).verdict, "not certified");
  assert.equal(verdict(`${measure} <= 0.1`, 0).verdict, "violated");
  assert.equal(verdict(`${measure} <= 0.15`, 0).verdict, "not certified");
  assert.equal(verdict(`${measure} < 0.15`, 0).verdict, "violated");
  assert.equal(verdict(`${measure} <= 0.1`, UNMITIGATED).verdict, "violated");
});

test("lower limits are compared with the lower end of the band", () => {
  assert.equal(verdict("accuracy >= 0.88", 0).verdict, "certified");
  assert.equal(verdict("accuracy > 0.88", 0).verdict, "not certified");
  assert.equal(verdict("accuracy >= 0.93", 0).verdict, "violated");
  assert.equal(verdict("accuracy >= 0.9", 0).verdict, "not certified");
});

test("other rows and measures without a band certify nothing", () => {
  assert.equal(verdict("train.accuracy >= 0.1", 0).verdict, "not certified");
  assert.equal(verdict("objective.error_rate <= 1", 0).verdict, "not certified");
  assert.match(verdict("log_loss <= 1", 0).why, /not defined on test rows/);
});

test("a certificate names the groups that it does not cover", () => {
  const partial = { front, certificates: [{ ...certificate, not_covered: ["race=Other"] }] } as unknown as PageData;
  const found = verdictOf(partial, parseRequirement(`${measure} <= 0.05`), 1);
  assert.match(found.why, /\(use 1\); not covered, because of too few training rows: race=Other$/);
});
