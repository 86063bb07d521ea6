// The same cases that the command's `select` passes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Front, UNMITIGATED, type Value } from "../src/front.ts";
import { parseRequirement, parseTerm, parseWeights, quote, requirementText } from "../src/grammar.ts";
import { type MeasureMeaning, type ObjectiveMeaning, setMeasures } from "../src/meaning.ts";
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
    id?: number;
  };
  expect: {
    id?: number;
    sentence?: string;
    nearest?: number;
    misses?: Value[];
    error?: string;
  };
}

interface Cases {
  measures: Record<string, MeasureMeaning>;
  fronts: Record<
    string,
    {
      objectives: ObjectiveMeaning[];
      front_in: "measures" | "objectives";
      measures: string[];
      columns: Record<string, Value[]>;
      unmitigated: Record<string, Value>;
    }
  >;
  cases: Case[];
  people: { front: string; id: number | null; attribute?: string; groups: string[]; sentences: string[] }[];
}

// Tests run in the folder of package.json.
const text = readFileSync("../../fairfront-run/cases/select.json", "utf8");
const { measures, fronts, cases, people } = JSON.parse(text) as Cases;
setMeasures(measures);

function frontOf(name: string): Front {
  const source = fronts[name];
  assert.ok(source, "a front of this name");
  return new Front({
    ...source,
    columns: new Map(Object.entries(source.columns)),
    unmitigated: new Map(Object.entries(source.unmitigated)),
  });
}

function ruleOf(request: Case["request"]): Rule {
  if (request.best !== undefined) return { kind: "best", term: parseTerm(request.best) };
  if (request.weights !== undefined) return { kind: "weights", weights: parseWeights(request.weights) };
  if (request.id !== undefined) return { kind: "id", id: request.id };
  if (request.knee) return { kind: "knee" };
  if (request.regret) return { kind: "regret" };
  throw new Error("a case names a rule");
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
        assert.equal(e.nearest, expect.nearest);
        const expected = expect.misses ?? [];
        assert.equal(e.misses.length, expected.length);
        e.misses.forEach(({ miss }, i) => {
          const other = expected[i] ?? null;
          if (miss === null || other === null) assert.equal(miss, other);
          // Decimal numbers of the cases are differences of others.
          else assert.ok(Math.abs(miss - other) < 1e-12);
        });
        return true;
      });
    } else {
      const found = run();
      assert.equal(found.id, expect.id);
      assert.equal(found.price.sentence, expect.sentence);
      assert.ok(found.meeting.includes(found.id));
    }
  });
}

test("groups are counted in people", () => {
  assert.ok(people.length >= 3);
  for (const { front, id, attribute: name = "sex", groups, sentences } of people) {
    const attribute = { name, groups };
    const said = groupStatements(frontOf(front), id ?? UNMITIGATED, attribute, "approved = yes");
    assert.deepEqual(said.map(({ text }) => text), sentences);
  }
});

test("noise needs intervals that all include 0", () => {
  const difference = "validation.demographic_parity_difference(sex)";
  assert.ok(frontOf("noise").withinNoise(difference) && !frontOf("measured").withinNoise(difference));
  assert.ok(frontOf("measured").withinNoise("validation.equalized_odds_difference(sex)"));
  // Nothing is known without intervals.
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

test("requirements come back as they are written", () => {
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
