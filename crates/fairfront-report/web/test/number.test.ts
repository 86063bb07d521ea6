import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, fixed, grouped, jsonNumber, plain, readable } from "../src/number.ts";

test("numbers are readable", () => {
  const read = [0.8, 0.84731, 1e-17, 0.0000125, 12345.6].map(readable);
  assert.deepEqual(read, ["0.8", "0.8473", "0", "0.0000125", "12346"]);
  assert.equal(readable(1.5e-7), "1.50e-7");
  assert.equal(readable(2e7), "2.00e7");
  assert.equal(readable(-0.78125), "-0.7812");
});

test("exact halves are rounded to the even digit", () => {
  assert.deepEqual([0.5, 1.5, 2.5, -2.5].map((v) => fixed(v, 0)), ["0", "2", "2", "-2"]);
  assert.deepEqual([0.25, 0.75, 0.125].map((v) => fixed(v, 1)), ["0.2", "0.8", "0.1"]);
  assert.equal(fixed(0.78125, 4), "0.7812");
  assert.equal(fixed(1.005, 2), "1.00");
});

test("numbers round-trip", () => {
  const all = [0, -0, 1, -1.5, 0.1, 1e-7, 1.25e-10, 123456789.125, 1e21, 5e-324, 1.7976931348623157e308];
  for (const v of all) {
    assert.ok(Object.is(Number(plain(v)), v), plain(v));
    assert.ok(Object.is(Number(jsonNumber(v)), v), jsonNumber(v));
    assert.ok(!/e/.test(plain(v)));
    assert.ok(/[.e]/.test(jsonNumber(v)));
  }
  assert.deepEqual([1e-5, 1e-6, 0.00012, 1e16, 1e15, 12, 1.5e300].map(jsonNumber), [
    "0.00001",
    "1e-6",
    "0.00012",
    "1e16",
    "1000000000000000.0",
    "12.0",
    "1.5e300",
  ]);
});

test("cells and counts", () => {
  assert.deepEqual([cell(null), cell(0.12345), cell(0), cell(1e-6)], ["–", "0.1235", "0.0000", "1.00e-6"]);
  assert.deepEqual([cell(12345, true), cell(12.25, true), grouped(999)], ["12,345", "12.2", "999"]);
});
