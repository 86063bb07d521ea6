// The data that the command wrote into the report.

import { Families, parseFamily } from "./family.ts";
import { Front, type Value } from "./front.ts";
import { type Meaning, setMeaning } from "./meaning.ts";
import { indexOf, type ModelId } from "./modelId.ts";
import type { Overlay } from "./overlay.ts";

type Packed = Value | Value[];

export interface Attribute {
  name: string;
  groups: string[];
}

export interface Diagnostic {
  severity: string;
  message: string;
}

/** The group's training rows, how many are labeled positive, and in which rates the group is compared. */
export interface GroupFacts {
  rows: number;
  positives: number;
  compared: { all: boolean; positives: boolean; negatives: boolean };
}

/** `run.json` without the fields that are elsewhere in the data. */
export interface RunFacts {
  program: string;
  source: string;
  spec: {
    target: string | null;
    positive: string | null;
    /** Additional values that count as positive. */
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
    /** Groups with fewer training rows are not compared; absent in older runs. */
    min_group?: number;
  };
  solver: string;
  solver_settings: Record<string, unknown>;
  reason?: string;
  proof: { proven: number; largest_optimality_gap: number | null; largest_residual: number };
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
  meaning: Meaning;
  requested: string[];
  definitions: string[];
  rows: Record<string, number>;
  /** Rows read and used, and the reasons for dropping others; absent in older runs. */
  dropped?: { read: number; used: number; reasons: { reason: string; rows: number; column?: string | null }[] };
  /** Facts about groups, by attribute; absent in older runs. */
  groups?: Record<string, Record<string, GroupFacts>>;
  fingerprint: string;
  front_sha256: string;
  models: number;
  stop: string;
  counters: Record<string, unknown>;
  seconds: Record<string, number>;
  messages: Diagnostic[];
  /** How the intervals of measures on test rows were computed. */
  intervals?: { confidence: number; replicates: number; left_out: number };
  /** For a target that is a number: the share of rows with at most each threshold, over all rows (`all`) and by group (`sex=F`). */
  target_shares?: Record<string, Value[]>;
  /** Values that plots show next to the models. */
  overlays?: Overlay[];
  /** The learners whose probabilities the models combine. */
  learners?: LearnerFacts[];
  /** Only for the state of a stream. */
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

/** A learner whose probabilities the models combine. */
export interface LearnerFacts {
  /** The event that it predicts, such as `income = >50K` or `sex`. */
  predicts: string;
  /** `boosted trees`, `score column` or `estimator`. */
  kind: string;
  classes: string[];
  rows: number;
  /** 0 if it has no trees. */
  trees: number;
  /** Out of fold. */
  log_loss: number | null;
  /** Out of fold; absent for more than two classes. */
  auc?: number | null;
  /** The share of the total gain of each column, and how much the log loss rises if its values are shuffled. */
  inputs: { name: string; gain: number | null; permutation?: number | null }[];
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
  /** Indices of the certified models. */
  certified: number[];
  /** Groups that are too small to be compared, such as `race=Other`. */
  not_covered?: string[];
}

/** The data as the command writes it; models have ids. */
interface Source {
  name: string;
  front_in: "measures" | "objectives";
  measures: string[];
  columns: { name: string; values: Packed; unmitigated: Value }[];
  /** One family per model, the unmitigated model's last; absent if all models are linear. */
  families?: string[];
  features: string[];
  params: Packed[];
  unmitigated_params: Packed;
  attributes: Attribute[];
  inputs: string[];
  opening: { model_id: ModelId | null; reason: string };
  certificates: (Omit<Certificate, "certified"> & { certified: ModelId[] })[];
  start?: string;
  model: {
    opening: string;
    middle: string;
    /** The text and the features of models that use learners. */
    learned?: { middle: string; first: number; count: number };
    origin: string;
    closing: string;
  };
  run: RunFacts;
}

export interface PageData {
  name: string;
  front: Front;
  families: Families;
  features: string[];
  params: number[][];
  unmitigatedParams: number[];
  attributes: Attribute[];
  inputs: string[];
  /** The index of the model that the report opens at (`null` for the unmitigated model), and the reason. */
  opening: { model: number | null; reason: string };
  /** Certificates of this front. */
  certificates: Certificate[];
  /** The selection to show if the address has none. */
  start: string;
  model: Source["model"];
  run: RunFacts;
}

/** One value per entry; a single value stands for all of them. */
function unpack(packed: Packed, length: number): Value[] {
  return Array.isArray(packed) ? packed : new Array<Value>(length).fill(packed);
}

export function readData(text: string): PageData {
  const source = JSON.parse(text) as Source;
  const models = source.params.length;
  const width = source.features.length + 1;
  const numbers = (packed: Packed) => unpack(packed, width).map((v) => v ?? NaN);
  setMeaning(source.run.meaning);
  const front = new Front({
    objectives: source.run.meaning.objectives,
    front_in: source.front_in,
    measures: source.measures,
    columns: new Map(source.columns.map((c) => [c.name, unpack(c.values, models)])),
    unmitigated: new Map(source.columns.map((c) => [c.name, c.unmitigated])),
  });
  const families = (source.families ?? []).map(parseFamily);
  const { opening, certificates, run } = source;
  const { spec } = run;
  const all = [spec.positive, ...(spec.also_positive ?? [])].filter((value) => value !== null);
  return {
    name: source.name,
    front,
    families: new Families(families.slice(0, models), families[models] ?? "linear"),
    features: source.features,
    params: source.params.map(numbers),
    unmitigatedParams: numbers(source.unmitigated_params),
    attributes: source.attributes,
    inputs: source.inputs,
    opening: { model: opening.model_id === null ? null : indexOf(opening.model_id), reason: opening.reason },
    certificates: certificates
      .filter((c) => c.front_sha256 === run.front_sha256)
      .map((c) => ({ ...c, certified: c.certified.map(indexOf) })),
    start: source.start ?? "",
    model: source.model,
    run: { ...run, spec: { ...spec, positive: all.length === 0 ? null : all.join(" or ") } },
  };
}
