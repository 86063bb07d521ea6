// Files that the report writes, byte for byte the same as those of the command.

import { checksum } from "./checksum.ts";
import type { PageData } from "./data.ts";
import { UNMITIGATED } from "./front.ts";
import { idOf } from "./modelId.ts";
import { combinesLearners, isLearned } from "./learned.ts";
import { jsonNumber, plain } from "./number.ts";

/** The model file of a model: what `fairfront select RUN --model-id N --model FILE` writes. */
export function modelText(data: PageData, model: number): string {
  const params = data.params[model] ?? [];
  const number = (v: number | null | undefined) =>
    v === null || v === undefined || !Number.isFinite(v) ? "null" : jsonNumber(v);
  const block = (entries: [string, number | null | undefined][]) =>
    entries.length === 0
      ? "{}"
      : `{\n${entries.map(([name, v]) => `    ${JSON.stringify(name)}: ${number(v)}`).join(",\n")}\n  }`;
  const { opening, middle, learned, origin, closing } = data.model;
  const usesLearners = combinesLearners(data, params);
  const all = data.features.map((name, i): [string, number | null | undefined] => [name, params[i]]);
  const coefficients = block(usesLearners ? all : all.filter((_, i) => !isLearned(data, i)));
  const values = block(data.front.names.map((name) => [name, data.front.values(name)?.[model]]));
  const ends = ["slope", "intercept"].map((name) => [name, data.front.values(`calibration.${name}`)] as const);
  const isCalibrated = ends.every(([, values]) => values !== undefined);
  const calibration = block(ends.map(([name, values]) => [name, values?.[model]]));
  const body = [
    opening,
    `  "intercept": ${number(params[data.features.length])},\n`,
    `  "coefficients": ${coefficients},\n`,
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
