// Files that the page writes, byte for byte what the command writes.

import { checksum } from "./checksum.ts";
import type { PageData } from "./data.ts";
import { jsonNumber, plain } from "./number.ts";

/** The model file of a point: what `fairfront select RUN --id N --model FILE` writes. */
export function modelText(data: PageData, point: number): string {
  const params = data.params[point] ?? [];
  const number = (v: number | null | undefined) =>
    v === null || v === undefined || !Number.isFinite(v) ? "null" : jsonNumber(v);
  const block = (entries: [string, number | null | undefined][]) =>
    entries.length === 0
      ? "{}"
      : `{\n${entries.map(([name, v]) => `    ${JSON.stringify(name)}: ${number(v)}`).join(",\n")}\n  }`;
  const coefficients = block(data.features.map((name, i) => [name, params[i]]));
  const values = block(data.front.names.map((name) => [name, data.front.values(name)?.[point]]));
  const calibration = block(
    ["slope", "intercept"].map((name) => [name, data.front.values(`calibration.${name}`)?.[point]]),
  );
  const { opening, middle, origin, closing } = data.model;
  const body = [
    opening,
    `  "intercept": ${number(params[data.features.length])},\n`,
    `  "coefficients": ${coefficients},\n`,
    `  "calibration": ${calibration},\n`,
    middle,
    `  "values": ${values},\n`,
    origin,
    String(point),
    closing,
  ].join("");
  return `${body},\n  "checksum": "${checksum(body)}"\n}\n`;
}

/** All models with all columns, the unmitigated one last: what `fairfront show RUN --csv` prints. */
export function frontText(data: PageData): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const { front } = data;
  const params = [...data.features, "(intercept)"].map((name) => `params.${name}`);
  const lines = [["id", ...front.names, ...params].map(field).join(",")];
  const columns = front.names.map((name) => front.values(name) ?? []);
  for (let point = 0; point < front.length; point++) {
    const values = columns.map((column) => column[point] ?? null);
    const all = [...values, ...(data.params[point] ?? [])];
    lines.push([String(point), ...all.map((v) => (v === null ? "" : plain(v)))].join(","));
  }
  const unmitigated = [...front.names.map((name) => front.unmitigated.get(name) ?? null), ...data.unmitigatedParams];
  lines.push(["unmitigated", ...unmitigated.map((v) => (v === null ? "" : plain(v)))].join(","));
  return `${lines.join("\n")}\n`;
}

/** Hands a text to the reader as a file. */
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // Some browsers read it only after the click is done.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
