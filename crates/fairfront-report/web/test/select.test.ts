// The test cases that the command's `select` passes as well.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Front, UNMITIGATED, type Value } from "../src/front.ts";
import { parseRequirement, parseTerm, parseWeights, quote, requirementText } from "../src/grammar.ts";
import { type MeasureMeaning, type Meaning, type ObjectiveMeaning, setMeaning } from "../src/meaning.ts";
import { idOf, indexOf, type ModelId } from "../src/modelId.ts";
import { groupStatements } from "../src/people.ts";
import { type Rule, select, Unmet } from "../src/select.ts";

interface Case {
  name: string;
  front: string;
  request: {
    require?: string[];
    best?: string;
    knee?: boolean;
    weights?: string;
    regret?: boolean;
    model_id?: ModelId;
  };
  expect: {
    model_id?: ModelId;
    sentence?: string;
    nearest?: ModelId;
    misses?: Value[];
    error?: string;
  };
}

interface Cases {
  measures: Record<string, MeasureMeaning>;
  measures_of_numbers: Record<string, MeasureMeaning>;
  measures_of_classes: Record<string, MeasureMeaning>;
  fronts: Record<
    string,
    {
      target?: Meaning["target"];
      performance?: string;
      objectives: ObjectiveMeaning[];
      front_in: "measures" | "objectives";
      measures: string[];
      columns: Record<string, Value[]>;
      unmitigated: Record<string, Value>;
    }
  >;
  cases: Case[];
  people: { front: string; model_id: ModelId | null; attribute?: string; groups: string[]; sentences: string[] }[];
}

// Tests run in the folder of package.json.
const text = readFileSync("../../fairfront-run/cases/select.json", "utf8");
const { measures, measures_of_numbers: ofNumbers, measures_of_classes: ofClasses, fronts, cases, people } = JSON.parse(text) as Cases;

function frontOf(name: string): Front {
  const source = fronts[name];
  assert.ok(source, `a front named ${name}`);
  const { objectives, performance } = source;
  const target = source.target === undefined ? {} : { target: source.target };
  const performs = performance === undefined ? {} : { performance };
  const own = source.target === undefined ? measures : source.target.classes ? ofClasses : ofNumbers;
  setMeaning({ objectives, ...target, ...performs, measures: own });
  return new Front({
    ...source,
    columns: new Map(Object.entries(source.columns)),
    unmitigated: new Map(Object.entries(source.unmitigated)),
  });
}

function ruleOf(request: Case["request"]): Rule {
  if (request.best !== undefined) return { kind: "best", term: parseTerm(request.best) };
  if (request.weights !== undefined) return { kind: "weights", weights: parseWeights(request.weights) };
  if (request.model_id !== undefined) return { kind: "id", id: request.model_id };
  if (request.knee) return { kind: "knee" };
  if (request.regret) return { kind: "regret" };
  throw new Error("a case must have a rule");
}

assert.ok(cases.length >= 30);
for (const { name, front: frontName, request, expect } of cases) {
  test(name, () => {
    const front = frontOf(frontName);
    const run = () => select(front, (request.require ?? []).map(parseRequirement), ruleOf(request));
    if (expect.error !== undefined) {
      const part = expect.error;
      assert.throws(run, (e: Error) => !(e instanceof Unmet) && e.message.includes(part));
    } else if (expect.nearest !== undefined) {
      assert.throws(run, (e: Error) => {
        assert.ok(e instanceof Unmet);
        assert.equal(idOf(e.nearest), expect.nearest);
        const expected = expect.misses ?? [];
        assert.equal(e.misses.length, expected.length);
        e.misses.forEach(({ miss }, i) => {
          const other = expected[i] ?? null;
          if (miss === null || other === null) assert.equal(miss, other);
          // Misses are computed by subtraction, so they match only up to rounding.
          else assert.ok(Math.abs(miss - other) < 1e-12);
        });
        return true;
      });
    } else {
      const found = run();
      assert.equal(idOf(found.model), expect.model_id);
      assert.equal(found.price.sentence, expect.sentence);
      assert.ok(found.meeting.includes(found.model));
    }
  });
}

test("groups are counted in people", () => {
  assert.ok(people.length >= 3);
  for (const { front, model_id: id, attribute: name = "sex", groups, sentences } of people) {
    const attribute = { name, groups };
    const model = id === null ? UNMITIGATED : indexOf(id);
    const said = groupStatements(frontOf(front), model, attribute, "approved = yes");
    assert.deepEqual(said.map(({ text }) => text), sentences);
  }
});

test("another model is named by its id", () => {
  const attribute = { name: "sex", groups: ["F"] };
  const [first] = groupStatements(frontOf("measured"), 2, attribute, "approved = yes", 0);
  assert.match(first?.text ?? "", /; model 1: \d+$/);
});

test("ids below 1 and beyond the front are rejected", () => {
  for (const id of [0, -1, 6, 1.5, NaN]) {
    const rule: Rule = { kind: "id", id: id as ModelId };
    assert.throws(() => select(frontOf("five"), [], rule), {
      message: `--model-id ${id}: the front has no such model; choose one of 1 to 5`,
    });
  }
});

test("the message for unmet requirements names the nearest model by its id", () => {
  const asked = [parseRequirement("accuracy >= 0.999")];
  assert.throws(() => select(frontOf("five"), asked, { kind: "knee" }), {
    message:
      "none of the 5 models meets accuracy >= 0.999; model 1 comes nearest: validation.accuracy is 0.85 and misses " +
      "accuracy >= 0.999 by 0.149",
  });
});

test("values are within noise if all intervals include 0", () => {
  const difference = "validation.demographic_parity_difference(sex)";
  assert.ok(frontOf("noise").withinNoise(difference) && !frontOf("measured").withinNoise(difference));
  assert.ok(frontOf("measured").withinNoise("validation.equalized_odds_difference(sex)"));
  // Without intervals, noise is unknown.
  assert.ok(!frontOf("noise").withinNoise("validation.accuracy"));
});

test("ends of intervals are neither measures nor suggestions", () => {
  const front = frontOf("measured");
  for (const measure of front.measuresOn("test")) assert.match(measure, /^[a-z_]+(\(.*\))?$/);
  assert.ok(!front.measuresOn("test").includes("probability_nondominated"));
  const asked = parseRequirement("test.demographic_parity_difference(race) <= 1");
  assert.throws(
    () => select(front, [asked], { kind: "knee" }),
    (e: Error) => !e.message.includes(".low") && e.message.includes("demographic_parity_difference(sex)"),
  );
});

test("requirements round-trip", () => {
  for (const text of [
    "accuracy >= 0.8",
    "test.demographic_parity_ratio(sex:race) < 0.0000001",
    'validation.objective.error_rate > -1000000',
    `count(${quote('a "b", c')}=${quote("<x>")}) <= 5`,
  ]) {
    assert.equal(requirementText(parseRequirement(text)), text);
  }
  for (const bad of ["accuracy", "accuracy = 1", "accuracy >= x", "accuracy >= NaN", ">= 1", "a(b > 1", '"a > 1']) {
    assert.throws(() => parseRequirement(bad), /character \d+/);
  }
});
