// Sets the meaning of all measures, as in the test cases of `select`.

import { readFileSync } from "node:fs";
import { type MeasureMeaning, setMeaning } from "../src/meaning.ts";

export function known(): void {
  // Tests run in the folder of package.json.
  const text = readFileSync("../../fairfront-run/cases/select.json", "utf8");
  const { measures } = JSON.parse(text) as { measures: Record<string, MeasureMeaning> };
  setMeaning({ objectives: [], measures });
}
