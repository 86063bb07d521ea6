// Model ids count from 1 in the data, the address, names, commands and downloads; indices count from 0.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PageData, readData } from "../src/data.ts";
import { frontText, modelText } from "../src/download.ts";
import { UNMITIGATED } from "../src/front.ts";
import { modelName, shortName } from "../src/label.ts";
import { idOf, indexOf, parseId } from "../src/modelId.ts";
import { Store } from "../src/store.ts";

/** The data of a report with three models, in the form that the command writes. */
function page(model_id: number | null = 2): PageData {
  const certificate = { requirements: ["accuracy >= 0.7"], front_sha256: "own", certified: [1, 3] };
  const run = {
    spec: { positive: "yes" },
    meaning: {
      objectives: [{ name: "error_rate", measure: "accuracy", covariance: false }],
      measures: { accuracy: { label: "accuracy", better: "larger", unit: "share", among: "all" } },
    },
    front_sha256: "own",
    models: 3,
  };
  const source = {
    name: "r",
    front_in: "measures",
    measures: ["1 - accuracy"],
    columns: [
      { name: "objective.error_rate", values: [0.1, 0.2, 0.3], unmitigated: 0.1 },
      { name: "train.accuracy", values: [0.9, 0.8, 0.7], unmitigated: 0.9 },
    ],
    features: ["age"],
    params: [[1, 0], [2, 0], [3, 0]],
    unmitigated_params: [1, 0],
    attributes: [],
    inputs: ["age"],
    opening: { model_id, reason: "the knee" },
    certificates: [certificate, { ...certificate, front_sha256: "other" }],
    model: {
      opening: "{\n",
      middle: '  "encoding": {},\n',
      origin: '  "provenance": {\n    "model_id": ',
      closing: ',\n    "models": 3\n  }',
    },
    run,
  };
  return readData(JSON.stringify(source));
}

/** A store for a report at this address, and a function that returns the address after a change. */
async function opened(address: string, data = page()): Promise<{ store: Store; written: () => Promise<URLSearchParams> }> {
  let hash = address;
  Object.assign(globalThis, {
    location: { get hash() { return hash; } },
    history: { replaceState: (_: unknown, __: string, to: string) => { hash = to; } },
    window: { addEventListener: () => undefined },
    document: { documentElement: { dataset: {} } },
  });
  const written = async () => {
    // The store waits for a pause before it writes.
    await new Promise((done) => setTimeout(done, 200));
    return new URLSearchParams(hash.slice(1));
  };
  return { store: new Store(data), written };
}

test("ids and indices", () => {
  assert.deepEqual([idOf(0), indexOf(idOf(41)), indexOf(parseId("12"))], [1, 41, 11]);
  for (const text of ["", "x", "-1", "1.5", " 1", "1e1"]) assert.ok(Number.isNaN(parseId(text)), text);
  assert.deepEqual([modelName(0), shortName(11)], ["model 1", "model 12"]);
  assert.deepEqual([modelName(UNMITIGATED), shortName(UNMITIGATED)], ["the unmitigated model", "unmitigated"]);
});

test("the data has ids", () => {
  const { opening, certificates } = page();
  assert.deepEqual(opening, { model: 1, reason: "the knee" });
  assert.equal(page(null).opening.model, null);
  assert.deepEqual(certificates.map(({ certified }) => certified), [[0, 2]]);
});

test("the address has ids", async () => {
  const { store, written } = await opened("#model-id=1&with=3");
  assert.deepEqual([store.chosen, store.other, store.problem], [0, 2, null]);
  store.pick(2);
  store.compareWith(0);
  assert.equal(store.selection?.model, 2);
  const address = await written();
  assert.deepEqual([address.get("model-id"), address.get("with")], ["3", "1"]);
  store.compareWith(UNMITIGATED);
  assert.equal((await written()).get("with"), null);
});

test("without an address, the report opens at the model of the data", async () => {
  assert.deepEqual((await opened("")).store.chosen, 1);
  assert.deepEqual((await opened("", page(null))).store.chosen, UNMITIGATED);
});

test("an address with an id that no model has is invalid", async () => {
  for (const id of ["0", "4"]) {
    const { store } = await opened(`#model-id=${id}&with=${id}`);
    assert.deepEqual([store.chosen, store.other], [1, UNMITIGATED]);
    assert.equal(
      store.problem,
      `the address of this report is invalid: --model-id ${id}: the front has no such model; choose one of 1 to 3`,
    );
  }
});

test("downloads have ids", () => {
  const data = page();
  const model = JSON.parse(modelText(data, 1)) as { provenance: { model_id: number }; coefficients: { age: number } };
  assert.deepEqual([model.provenance.model_id, model.coefficients.age], [2, 2]);
  assert.deepEqual(
    frontText(data).trim().split("\n").map((line) => line.split(",", 1)[0]),
    ["model_id", "1", "2", "3", "unmitigated"],
  );
});
