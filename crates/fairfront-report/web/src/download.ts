// Files that the report writes, byte for byte the same as those of the command.

import { checksum } from "./checksum.ts";
import type { PageData } from "./data.ts";
import { UNMITIGATED } from "./front.ts";
import { idOf } from "./modelId.ts";
import { combinesLearners, featureName, isLearned, paramsOfScore } from "./learned.ts";
import { targetClasses } from "./meaning.ts";
import { jsonNumber, plain } from "./number.ts";

/** The model file of a model: what `fairfront select RUN --model-id N --model FILE` writes. */
export function modelText(data: PageData, model: number): string {
  const params = data.params[model] ?? [];
  const number = (v: number | null | undefined) =>
    v === null || v === undefined || !Number.isFinite(v) ? "null" : jsonNumber(v);
  const lines = (entries: [string, string][], room: string) =>
    entries.length === 0
      ? "{}"
      : `{\n${entries.map(([name, text]) => `${room}  ${JSON.stringify(name)}: ${text}`).join(",\n")}\n${room}}`;
  const block = (entries: [string, number | null | undefined][], room = "  ") =>
    lines(entries.map(([name, v]) => [name, number(v)]), room);
  const { opening, middle, learned, origin, closing } = data.model;
  const usesLearners = combinesLearners(data, params);
  const coefficientsOf = (score: number, room: string) => {
    const own = paramsOfScore(data, score).slice(0, -1).filter((i) => usesLearners || !isLearned(data, i));
    return block(own.map((i) => [featureName(data, i), params[i]]), room);
  };
  const interceptOf = (score: number) => number(params[paramsOfScore(data, score).slice(-1)[0] ?? 0]);
  const classes = targetClasses()?.names ?? null;
  /** The only score, or a map from classes to their scores. */
  const perScore = (of: (score: number, room: string) => string) =>
    classes === null ? of(0, "  ") : lines(classes.map((name, score) => [name, of(score, "    ")]), "  ");
  const values = block(data.front.names.map((name) => [name, data.front.values(name)?.[model]]));
  const ends = ["slope", "intercept"].map((name) => [name, data.front.values(`calibration.${name}`)] as const);
  const isCalibrated = ends.every(([, values]) => values !== undefined);
  const calibration = block(ends.map(([name, values]) => [name, values?.[model]]));
  const body = [
    opening,
    `  "intercept": ${perScore(interceptOf)},\n`,
    `  "coefficients": ${perScore(coefficientsOf)},\n`,
    isCalibrated ? `  "calibration": ${calibration},\n` : "",
    usesLearners ? (learned?.middle ?? middle) : middle,
    `  "values": ${values},\n`,
    origin,
    String(idOf(model)),
    closing,
  ].join("");
  return `${body},\n  "checksum": "${checksum(body)}"\n}\n`;
}

/** All models with all columns, the unmitigated model last: what `fairfront show RUN --csv` prints. */
export function frontText(data: PageData): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const { front } = data;
  const params = [...data.features, "(intercept)"].map((name) => `params.${name}`);
  const lines = [["model_id", "family", ...front.names, ...params].map(field).join(",")];
  const columns = front.names.map((name) => front.values(name) ?? []);
  for (let model = 0; model < front.length; model++) {
    const values = columns.map((column) => column[model] ?? null);
    const all = [...values, ...(data.params[model] ?? [])];
    lines.push([String(idOf(model)), data.families.of(model), ...all.map((v) => (v === null ? "" : plain(v)))].join(","));
  }
  const unmitigated = [...front.names.map((name) => front.unmitigated.get(name) ?? null), ...data.unmitigatedParams];
  lines.push(["unmitigated", data.families.of(UNMITIGATED), ...unmitigated.map((v) => (v === null ? "" : plain(v)))].join(","));
  return `${lines.join("\n")}\n`;
}

/** Downloads a string as a file. */
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Some browsers read the data only after the click event.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
