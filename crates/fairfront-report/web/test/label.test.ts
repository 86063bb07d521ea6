import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, parseTerm, termText } from "../src/grammar.ts";
import { direction, isCount, measureOf, termOf, words } from "../src/label.ts";
import { known } from "./known.ts";

known();

test("columns in words", () => {
  assert.equal(words("demographic_parity_difference(sex)"), "demographic parity difference (sex)");
  assert.equal(words("objective.error_rate"), "error rate objective");
  assert.equal(measureOf("validation.objective.log_loss"), "objective.log_loss");
  assert.ok(words(`selection_rate(a=${"x".repeat(10_000)})`).length < 80);
});

test("the better direction of a measure", () => {
  assert.equal(direction("accuracy"), "large");
  assert.equal(direction("accuracy(sex=F)"), "large");
  assert.equal(direction("demographic_parity_ratio(sex)"), "large");
  assert.equal(direction("objective.accuracy"), "small");
  assert.equal(direction("log_loss"), "small");
  assert.equal(direction("selection_rate(sex=F)"), null);
  assert.ok(isCount("true_positives(sex=F)") && isCount("count(sex=F)") && !isCount("accuracy"));
});

test("terms of measures round-trip, with any characters in names", () => {
  const attributes = [
    { name: 'a "b", (c)=<d>', groups: ["x=y", "</script>", ": , )"] },
    { name: "sex:race", groups: ["F:B"] },
  ];
  for (const { name, groups } of attributes) {
    const measures = [`demographic_parity_ratio(${name})`, ...groups.map((g) => `selection_rate(${name}=${g})`)];
    for (const measure of measures) {
      const term = termOf(measure, attributes);
      assert.equal(canonical(term), measure);
      assert.equal(canonical(parseTerm(termText(term))), measure);
    }
  }
});
