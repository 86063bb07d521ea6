import assert from "node:assert/strict";
import { test } from "node:test";
import { knee, nondominated } from "../src/knee.ts";

/** Nondominated points by definition: no other point is at least as good; of equal points, only the first. */
function byDefinition(points: number[][]): number[] {
  const asGood = (a: number[], b: number[]) => a.every((v, i) => v <= (b[i] ?? 0));
  const equal = (a: number[], b: number[]) => a.every((v, i) => v === b[i]);
  return points.flatMap((own, i) => {
    const beaten = points.some((other, j) =>
      equal(other, own) ? j < i : asGood(other, own),
    );
    return beaten ? [] : [i];
  });
}

test("nondominated points agree with the definition", () => {
  // Small whole numbers, so that there are ties.
  let state = 12345;
  const next = (most: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * most);
  };
  for (let round = 0; round < 300; round++) {
    const m = 1 + next(4);
    const points = Array.from({ length: next(30) }, () => Array.from({ length: m }, () => next(6)));
    assert.deepEqual(nondominated(points), byDefinition(points));
  }
});

test("knees agree with the tests of the command", () => {
  const hyperbola = Array.from({ length: 81 }, (_, i) => {
    const x = 9 ** ((i - 40) / 40);
    return [x, 1 / x];
  });
  assert.equal(knee(hyperbola), 40);
  assert.equal(knee([]), null);
  assert.equal(knee([[Infinity, 1]]), null);
  assert.equal(knee([[3, 4]]), 0);
  assert.equal(knee([[5, 5], [3, 4], [3, 4]]), 1);
  assert.equal(knee([[-1e308, 1], [0, 0], [1e308, -1]]), 0);
  assert.equal(knee([[0, 9, 9], [1, 1, 1], [9, 0, 0]]), 1);
  assert.equal(knee([[0, 10, 10], [10, 0, 10], [10, 10, 0], [4, 4, 4], [5, 5, 3]]), 3);
});
