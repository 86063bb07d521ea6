import assert from "node:assert/strict";
import { test } from "node:test";
import { amongOf, comparedNote, notCompared } from "../src/compared.ts";
import type { GroupFacts, RunFacts } from "../src/data.ts";

function facts(groups?: Record<string, Record<string, GroupFacts>>, min_group?: number): RunFacts {
  return { groups, spec: { min_group } } as unknown as RunFacts;
}

const enough = { all: true, positives: true, negatives: true };
import { known } from "./known.ts";

known();

test("a group that is not compared has a reason", () => {
  const run = facts(
    {
      race: {
        White: { rows: 900, positives: 400, compared: enough },
        Other: { rows: 12, positives: 3, compared: { all: false, positives: false, negatives: false } },
        Asian: { rows: 60, positives: 8, compared: { ...enough, positives: false } },
      },
    },
    30,
  );
  assert.equal(notCompared(run, "race", "White"), null);
  assert.equal(notCompared(run, "race", "Other"), "Not compared: 12 training rows, fewer than 30");
  assert.equal(notCompared(run, "race", "Other", "positives"), "Not compared: 3 training rows labeled positive, fewer than 30");
  assert.equal(notCompared(run, "race", "Asian"), "Not compared: 8 training rows labeled positive, fewer than 30");
  assert.equal(notCompared(run, "race", "Asian", amongOf("false_negative_rate")), notCompared(run, "race", "Asian"));
  // Its other rates are compared.
  assert.equal(notCompared(run, "race", "Asian", amongOf("selection_rate")), null);
  assert.equal(notCompared(run, "race", "Asian", amongOf("false_positive_rate")), null);
  const note = comparedNote(run, "race") ?? "";
  assert.ok(
    note.startsWith("† Groups with fewer than 30 training rows are shown, but left out of differences and ratios."),
  );
  assert.ok(note.includes("labeled positive are left out of differences between false negative rates"));
});

test("the note is limited to the reasons that apply", () => {
  const few = { rows: 12, positives: 3, compared: { all: false, positives: false, negatives: false } };
  const note = comparedNote(facts({ sex: { x: few } }, 30), "sex") ?? "";
  assert.ok(!note.includes("labeled"));
  assert.equal(comparedNote(facts({ sex: { F: { rows: 90, positives: 40, compared: enough } } }, 30), "sex"), null);
});

test("runs without facts about groups have no marks", () => {
  for (const run of [facts(), facts({})]) {
    assert.equal(notCompared(run, "race", "Other"), null);
    assert.equal(comparedNote(run, "race"), null);
  }
  // Every object inherits properties of these names.
  assert.equal(notCompared(facts({ race: {} }), "race", "constructor"), null);
  assert.equal(notCompared(facts({}), "constructor", "name"), null);
});
