import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, rankCorrelation } from "../src/conflict.ts";

const column = (values: (number | null)[], largeIsBetter = false) => ({ name: "c", values, largeIsBetter });

test("rank correlation agrees with hand-computed values", () => {
  assert.equal(rankCorrelation([1, 2, 3, 4], [8, 6, 4, 1]), -1);
  assert.equal(rankCorrelation([1, 2, 3, 4], [1, 8, 27, 64]), 1);
  // Spearman's example with two swapped neighbors: 1 - 6·2/(4·15).
  assert.ok(Math.abs((rankCorrelation([1, 2, 3, 4], [1, 3, 2, 4]) ?? 0) - 0.8) < 1e-12);
  // Equal values have the same rank: Pearson of (0.5, 0.5, 2) and (0, 1, 2).
  assert.ok(Math.abs((rankCorrelation([5, 5, 9], [1, 2, 3]) ?? 0) - Math.sqrt(0.75)) < 1e-12);
  assert.equal(rankCorrelation([1, 1, 1], [1, 2, 3]), null);
  assert.equal(rankCorrelation([1, null, 2], [1, 2, null]), null);
});

test("the verdict depends on the model that is good in both", () => {
  const line = conflict(column([0, 1, 2, 3, 4]), column([4, 3, 2, 1, 0]));
  assert.deepEqual(line, { correlation: -1, best: 2, regret: 0.5, verdict: "conflict" });
  const ideal = conflict(column([0, 1, 2]), column([0, 2, 1]));
  assert.equal(ideal?.verdict, "none");
  assert.equal(ideal?.best, 0);
  // If more is better, the largest value is the best.
  const bent = conflict(column([10, 8, 0], true), column([10, 1, 0]));
  assert.equal(bent?.verdict, "conflict");
  assert.equal(bent?.best, 1);
  const similar = conflict(column([0, 2, 4, 7, 10]), column([2, 0, 5, 7, 10]));
  assert.equal(similar?.verdict, "little");
  assert.equal(conflict(column([null, 1]), column([1, null])), null);
});
