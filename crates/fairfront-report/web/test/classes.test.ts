// Targets with several classes: names of measures, labels, sentences and decisions by class.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { classRows } from "../src/confusion.ts";
import { Front, isMeasure, type Value } from "../src/front.ts";
import { canonical, parseTerm, termText } from "../src/grammar.ts";
import { explain, isConstant, isOfClass, isOfGroup, termOf, valueText, wordParts, words } from "../src/label.ts";
import { type MeasureMeaning, nameParts, selects, setMeaning } from "../src/meaning.ts";
import { classStatements } from "../src/people.ts";
import { rates } from "../src/rate.ts";

const text = readFileSync("../../fairfront-run/cases/select.json", "utf8");
const { measures_of_classes: measures } = JSON.parse(text) as { measures_of_classes: Record<string, MeasureMeaning> };

/** Classes with special characters; each of them is part of a measure's name. */
const NAMES = ["low", "Assoc, voc", ">50K (high)", "a]b", "x](sex=F", "1.5"];

function decide(names: string[], ordered: boolean): void {
  setMeaning({ target: { classes: ordered ? { names, ordered } : { names } }, objectives: [], measures });
}

beforeEach(() => decide(["low", "mid", "high"], true));

function frontOf(columns: Record<string, Value[]>, unmitigated: Record<string, Value> = {}): Front {
  const all = { "objective.error_rate": [0.5], "test.accuracy": [0.8], ...columns };
  return new Front({
    objectives: [{ name: "error_rate", measure: "accuracy", covariance: false }],
    front_in: "objectives",
    measures: [],
    columns: new Map(Object.entries(all)),
    unmitigated: new Map(Object.entries(unmitigated)),
  });
}

test("names are read with kind, class, attribute and group", () => {
  decide(NAMES, false);
  for (const of of NAMES) {
    for (const inside of [null, "sex", "sex=F", "sex=a](b)"]) {
      const name = `recall[${of}]${inside === null ? "" : `(${inside})`}`;
      assert.deepEqual(nameParts(name), { kind: "recall", class: of, inside }, name);
      assert.ok(isMeasure(name) && !isMeasure(`${name}.low`), name);
      assert.equal(isOfClass(name), true);
    }
    for (const decided of NAMES) {
      const name = `decisions[${of}>${decided}](sex=F)`;
      assert.deepEqual(nameParts(name), { kind: "decisions", class: `${of}>${decided}`, inside: "sex=F" });
    }
  }
  assert.deepEqual(nameParts("accuracy(sex=a[b])"), { kind: "accuracy", class: null, inside: "sex=a[b]" });
});

test("terms of measures of classes are written so that they can be read", () => {
  decide(NAMES, false);
  const attributes = [{ name: "sex", groups: ["F", "x, y"] }];
  for (const of of NAMES) {
    for (const inside of ["", "(sex)", "(sex=x, y)"]) {
      const name = `recall[${of}]${inside}`;
      const term = termOf(name, attributes);
      assert.equal(canonical(term), name);
      assert.deepEqual(parseTerm(termText(term)), term);
      assert.equal(isOfGroup(name, attributes), inside.includes("="));
    }
  }
  assert.equal(termText(parseTerm("recall[ a, b ]( sex )")), 'recall["a, b"](sex)');
  assert.throws(() => parseTerm("r[a(b)"), /character 7: expected '\]'/);
  assert.throws(() => parseTerm("r[](b)"), /character 3: expected a class/);
});

test("measures of classes are in words", () => {
  assert.equal(words("recall[low](sex=F)"), "recall of low (sex=F)");
  assert.equal(words("selection_rate[mid]"), "share decided at least mid");
  assert.equal(words("f1[high]"), "F1 of high");
  assert.equal(words("decisions[low>high](sex=F)"), "rows of low decided high (sex=F)");
  assert.equal(words("demographic_parity_difference[high](sex)"), "demographic parity difference for high (sex)");
  assert.match(explain("selection_rate[mid](sex=F)") ?? "", /^the share of rows decided at least mid$/);
  assert.equal(valueText("recall[low](sex=F)", 0.625), "62.5%");
  assert.equal(valueText("decisions[low>high](sex=F)", 1234), "1,234");
  decide(["a", ">50K (high)", "c"], false);
  assert.deepEqual(wordParts("selection_rate[>50K (high)](sex=F)"), ["share decided >50K (high)", "(sex=F)"]);
});

test("shares of the lowest of ordered classes are the same for all models", () => {
  assert.ok(!selects());
  assert.ok(isConstant("selection_rate[low](sex=F)") && isConstant("demographic_parity_difference[low](sex)"));
  assert.ok(!isConstant("selection_rate[mid]") && !isConstant("recall[low]"));
  const kinds = rates().map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(0, 3), ["selection_rate[mid]", "selection_rate[high]", "recall[low]"]);
  decide(["low", "mid", "high"], false);
  assert.ok(!isConstant("selection_rate[low]"));
  assert.equal(rates()[0]?.title, "Share decided low");
});

test("decisions are counted in people", () => {
  const front = frontOf(
    {
      "test.selection_rate[high](sex=F)": [0.25],
      "test.recall[high](sex=F)": [0.634],
      "test.recall[high](sex=F).low": [0.58],
      "test.recall[high](sex=F).high": [0.67],
    },
    { "test.recall[high](sex=F)": 0.5 },
  );
  const classes = { names: ["low", "mid", "high"], ordered: true };
  const said = classStatements(front, 0, { name: "sex", groups: ["F", "M"] }, classes);
  assert.deepEqual(
    said.map(({ text }) => text),
    [
      "of 100 people with sex = F, 25 are decided at least high",
      "of 100 people with sex = F labeled high, 63 are decided high (58 to 67); unmitigated: 50",
    ],
  );
});

test("rows of a class are shared between decisions", () => {
  const names = ["a", "b", "c"];
  const counts: Record<string, Value[]> = {};
  names.forEach((of, i) => {
    names.forEach((decided, j) => {
      counts[`test.decisions[${of}>${decided}](sex=F)`] = [i === 2 ? 0 : i + j];
    });
  });
  const rows = classRows(frontOf(counts), 0, "test", "sex=F", { names }) ?? [];
  assert.deepEqual(rows.map(({ rows }) => rows), [3, 6, 0]);
  assert.deepEqual(rows.map(({ shares }) => shares), [[0, 1 / 3, 2 / 3], [1 / 6, 2 / 6, 3 / 6], [null, null, null]]);
  assert.equal(classRows(frontOf({}), 0, "test", "sex=F", { names }), null);
});
