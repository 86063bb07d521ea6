import assert from "node:assert/strict";
import { test } from "node:test";
import type { LearnerFacts, PageData } from "../src/data.ts";
import { Families, FAMILIES, outline, parseFamily, plural } from "../src/family.ts";
import { Front, UNMITIGATED } from "../src/front.ts";
import { frontText, modelText } from "../src/download.ts";
import { combinesLearners, ownParams, paramName } from "../src/learned.ts";
import { byImportance, qualityText } from "../src/look.ts";

test("families are shown if not all models are linear", () => {
  assert.ok(!new Families(["linear", "linear"], "linear").areShown);
  assert.equal(new Families(["linear"], "linear").suffix(0), "");
  const both = new Families(["trees", "linear", "trees"], "linear");
  assert.ok(both.areShown);
  assert.deepEqual(both.counts, [["linear", 1], ["trees", 2]]);
  assert.deepEqual([both.of(0), both.of(1), both.of(UNMITIGATED)], ["trees", "linear", "linear"]);
  assert.equal(both.suffix(0), " (boosted trees)");
  assert.ok(new Families(["trees"], "trees").areShown && new Families(["linear"], "trees").areShown);
  assert.deepEqual([parseFamily("network"), parseFamily("other"), parseFamily(undefined)], ["network", "linear", "linear"]);
});

test("every family has its own name and shape", () => {
  assert.equal(new Set(FAMILIES.map(plural)).size, FAMILIES.length);
  const shapes = FAMILIES.map((family) => outline(family, 5));
  assert.equal(new Set(shapes).size, FAMILIES.length);
  for (const path of shapes) assert.match(path, /^M[-\d. La]+z$/);
});

const learners = [{ predicts: "income = >50K" }, { predicts: "sex" }] as LearnerFacts[];
const data = {
  front: new Front({
    objectives: [{ name: "error_rate", measure: "accuracy", covariance: false }],
    front_in: "measures",
    measures: [],
    columns: new Map([["train.accuracy", [0.5, 0.75]]]),
    unmitigated: new Map([["train.accuracy", 0.5]]),
  }),
  families: new Families(["linear", "trees"], "linear"),
  features: ["age", "trees: probability", "trees: sex=Female", "job=a"],
  params: [[1, 0, 0, 2, 3], [0, 4, -5, 0, 6]],
  unmitigatedParams: [1, 0, 0, 1, 1],
  model: {
    opening: "{\n",
    middle: '  "encoding": 1,\n',
    learned: { middle: '  "encoding": 2,\n', first: 1, count: 2 },
    origin: '  "model_id": ',
    closing: "",
  },
  run: { learners },
} as unknown as PageData;

test("a model lists only its own kind of coefficients", () => {
  const names = (model: number) => ownParams(data, model).map((param) => paramName(data, param));
  assert.deepEqual(names(0), ["age", "job=a", "(intercept)"]);
  assert.deepEqual(names(UNMITIGATED), names(0));
  assert.deepEqual(names(1), ["probability of income = >50K", "the columns' information about sex=Female", "(intercept)"]);
  assert.ok(combinesLearners(data, [0, 0, 1, 0, 0]) && !combinesLearners(data, [1, 0, 0, 1, 1]));
});

test("files of models contain learners only if the model uses them", () => {
  const [linear, trees] = [modelText(data, 0), modelText(data, 1)];
  assert.ok(linear.includes('"encoding": 1') && !linear.includes("trees:"), linear);
  assert.ok(trees.includes('"encoding": 2') && trees.includes('"trees: sex=Female": -5.0'), trees);
  assert.ok(trees.includes('"age": 0.0'));
});

test("the table of the front has families", () => {
  const lines = frontText(data).split("\n");
  assert.ok(lines[0]?.startsWith("model_id,family,train.accuracy,params.age"));
  assert.deepEqual(lines.slice(1, 4).map((line) => line.split(",").slice(0, 3)), [
    ["1", "linear", "0.5"],
    ["2", "trees", "0.75"],
    ["unmitigated", "linear", "0.5"],
  ]);
});

test("columns are ordered by gain", () => {
  const inputs = [{ name: "a", gain: 0.1 }, { name: "b", gain: 0.6 }, { name: "c", gain: 0.1 }, { name: "d", gain: null }];
  assert.deepEqual(byImportance(inputs).map(({ name }) => name), ["b", "a", "c", "d"]);
});

test("quality is in words", () => {
  const of = (log_loss: number | null, auc?: number) => qualityText({ log_loss, ...(auc === undefined ? {} : { auc }) } as LearnerFacts);
  assert.equal(of(0.28691, 0.92554), "log loss 0.2869, AUC 0.926 (out of fold)");
  assert.equal(of(0.5), "log loss 0.5000 (out of fold)");
  assert.equal(of(null), "not known");
});
