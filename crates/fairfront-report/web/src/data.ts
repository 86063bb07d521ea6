// What the command put into the page.

import { Front, type Value } from "./front.ts";
import { type MeasureMeaning, type ObjectiveMeaning, setMeasures } from "./meaning.ts";

type Packed = Value | Value[];

export interface Attribute {
  name: string;
  groups: string[];
}

export interface Notice {
  level: string;
  message: string;
}

/** Training rows of a group, those of them labeled positive, and the rates that compare the group with others. */
export interface GroupFacts {
  rows: number;
  positives: number;
  compared: { all: boolean; positives: boolean; negatives: boolean };
}

/** `run.json` without what is elsewhere in the data. */
export interface RunFacts {
  program: string;
  source: string;
  spec: {
    target: string | null;
    positive: string | null;
    /** Further values that count as positive. */
    also_positive?: string[];
    drop: string[];
    weight: string | null;
    use_sensitive: boolean;
    missing: string;
    missing_by_column: Record<string, string>;
    missing_sensitive: string;
    scale: string;
    pool_rare: number;
    merges: Record<string, unknown>;
    bins: Record<string, unknown>;
    split: unknown;
    balance: unknown;
    seed: number;
    /** Groups with fewer training rows are not compared; older runs do not say. */
    min_group?: number;
  };
  solver: string;
  solver_settings: Record<string, unknown>;
  reason?: string;
  certificate: { proven: number; largest_gap: number | null; largest_residual: number };
  polish?: Record<string, unknown>;
  judged: {
    front_in: string;
    measures: string[];
    candidates: number;
    moved: number;
    in_objectives: number;
    in_measures?: number;
    on_test?: number;
  };
  meaning: { objectives: ObjectiveMeaning[]; measures: Record<string, MeasureMeaning> };
  requested: string[];
  definitions: string[];
  rows: Record<string, number>;
  /** Rows read and used, and why others were dropped; older runs do not say. */
  dropped?: { read: number; used: number; reasons: { reason: string; rows: number; column?: string | null }[] };
  /** Training rows of each group, by attribute, and in which rates it is compared; older runs do not say. */
  groups?: Record<string, Record<string, GroupFacts>>;
  fingerprint: string;
  front_sha256: string;
  points: number;
  stop: string;
  counters: Record<string, unknown>;
  seconds: Record<string, number>;
  notices: Notice[];
  /** About the intervals of measures on test rows. */
  intervals?: { confidence: number; replicates: number; left_out: number };
  /** Only of the state of a stream. */
  stream?: {
    batches: number;
    updated: number;
    rows: number;
    used: number;
    rejected: number;
    dropped: { reason: string; rows: number }[];
    keep: unknown;
    kept: number;
  };
}

/** One use of the certifying rows. */
export interface Certificate {
  requirements: string[];
  confidence: number;
  test: "score" | "exact" | "band";
  stated: "before" | "after-looking";
  rows: { split: string; count: number; fingerprint: string };
  front_sha256: string;
  use: number;
  level: number;
  certified: number[];
  /** Groups that are too small to be compared, as in `race=Other`. */
  not_covered?: string[];
}

interface Source {
  name: string;
  front_in: "measures" | "objectives";
  measures: string[];
  columns: { name: string; values: Packed; unmitigated: Value }[];
  features: string[];
  params: Packed[];
  unmitigated_params: Packed;
  attributes: Attribute[];
  inputs: string[];
  opening: { model: number | null; reason: string };
  certificates: Certificate[];
  start?: string;
  model: { opening: string; middle: string; origin: string; closing: string };
  run: RunFacts;
}

export interface PageData {
  name: string;
  front: Front;
  features: string[];
  params: number[][];
  unmitigatedParams: number[];
  attributes: Attribute[];
  inputs: string[];
  /** The model that the page opens at (`null` is the unmitigated one), and why. */
  opening: Source["opening"];
  /** Those of this front. */
  certificates: Certificate[];
  /** What is shown where the address asks for nothing. */
  start: string;
  model: Source["model"];
  run: RunFacts;
}

/** One value for each; where only one is written, it is that of all. */
function unpack(packed: Packed, length: number): Value[] {
  return Array.isArray(packed) ? packed : new Array<Value>(length).fill(packed);
}

export function readData(text: string): PageData {
  const source = JSON.parse(text) as Source;
  const points = source.params.length;
  const width = source.features.length + 1;
  const numbers = (packed: Packed) => unpack(packed, width).map((v) => v ?? NaN);
  setMeasures(source.run.meaning.measures);
  const front = new Front({
    objectives: source.run.meaning.objectives,
    front_in: source.front_in,
    measures: source.measures,
    columns: new Map(source.columns.map((c) => [c.name, unpack(c.values, points)])),
    unmitigated: new Map(source.columns.map((c) => [c.name, c.unmitigated])),
  });
  const { spec } = source.run;
  const all = [spec.positive, ...(spec.also_positive ?? [])].filter((value) => value !== null);
  return {
    name: source.name,
    front,
    features: source.features,
    params: source.params.map(numbers),
    unmitigatedParams: numbers(source.unmitigated_params),
    attributes: source.attributes,
    inputs: source.inputs,
    opening: source.opening,
    certificates: source.certificates.filter((c) => c.front_sha256 === source.run.front_sha256),
    start: source.start ?? "",
    model: source.model,
    run: { ...source.run, spec: { ...spec, positive: all.length === 0 ? null : all.join(" or ") } },
  };
}
