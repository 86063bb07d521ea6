// The rates or means of groups: their values, and the places of values on a track.

import { amongOf } from "./compared.ts";
import type { Attribute } from "./data.ts";
import type { Value } from "./front.ts";
import { capital, explain, intervalText, valueText, words } from "./label.ts";
import { type Among, type Classes, decides, targetClasses } from "./meaning.ts";
import type { Store } from "./store.ts";

/** A value of the selected model, with its interval, and of the model it is compared with. */
export interface Both {
  own: Value;
  before: Value;
  interval: [number, number] | null;
}

/**
 * How values are drawn: shares as bars from 0 to 1, amounts as bars from 0 to the largest, signed values as bars from the
 * middle, and means as dots, because a bar from 0 would hide their differences.
 */
export type Look = "share" | "amount" | "signed" | "dot";

export interface Rate {
  kind: string;
  title: string;
  look: Look;
  /** The rows that it covers. */
  among: Among;
  meaning: string;
  /** Whether it is the same for all models. */
  isFact: boolean;
}

const OF_DECISIONS: [kind: string, title: string, look: Look][] = [
  ["selection_rate", "Selection rate", "share"],
  ["false_positive_rate", "False positive rate", "share"],
  ["false_negative_rate", "False negative rate", "share"],
  ["accuracy", "Accuracy", "share"],
  ["count", "Rows", "amount"],
];

const OF_NUMBERS: [kind: string, title: string, look: Look][] = [
  ["mean_prediction", "Mean prediction", "dot"],
  ["mean_target", "Mean of the target", "dot"],
  ["mean_residual", "Mean residual (target minus prediction)", "signed"],
  ["rmse", "RMSE", "amount"],
  ["mae", "MAE", "amount"],
  ["count", "Rows", "amount"],
];

/** Rates of more classes than this are only in the table of decisions and in the measures of each class. */
const MOST_CLASSES = 8;

/** The classes that decisions are compared by: every decision is at least as high as the lowest of ordered classes. */
export function comparedClasses({ names, ordered }: Classes): string[] {
  return ordered ? names.slice(1) : names;
}

/** Shares of decisions, then recalls, of the first classes. */
function ofClasses(classes: Classes): [kind: string, title: string, look: Look][] {
  const rate = (kind: string) => (of: string): [string, string, Look] => {
    const measure = `${kind}[${of}]`;
    return [measure, capital(words(measure, 24)), "share"];
  };
  return [
    ...comparedClasses(classes).slice(0, MOST_CLASSES).map(rate("selection_rate")),
    ...classes.names.slice(0, MOST_CLASSES).map(rate("recall")),
    ["accuracy", "Accuracy", "share"],
    ["count", "Rows", "amount"],
  ];
}

/** A note about classes whose rates are not shown by group; `null` if all are. */
export function classesNote(): string | null {
  const rest = (targetClasses()?.names.length ?? 0) - MOST_CLASSES;
  return rest > 0 ? `Shown: the first ${MOST_CLASSES} classes. The axes of the plot offer the rates of all classes.` : null;
}

/** The rates, or the means of predicted numbers, that are shown by group. */
export function rates(): Rate[] {
  const classes = targetClasses();
  const all = classes !== null ? ofClasses(classes) : decides() ? OF_DECISIONS : OF_NUMBERS;
  return all.map(([kind, title, look]) => ({
    kind,
    title,
    look,
    among: amongOf(kind),
    meaning: kind === "accuracy" ? "the share of the group whose decision agrees with the label" : (explain(kind) ?? ""),
    isFact: kind === "count" || kind === "mean_target",
  }));
}

/** The values of a rate for the groups of an attribute, on the current split. */
export function valuesOf({ front, split, chosen, other }: Store, rate: Rate, attribute: Attribute): Both[] {
  return attribute.groups.map((group) => {
    const column = `${split}.${rate.kind}(${attribute.name}=${group})`;
    return {
      own: front.at(column, chosen),
      before: other === chosen ? null : front.at(column, other),
      interval: front.interval(column, chosen),
    };
  });
}

/** All numbers that a track must have room for. */
function numbersOf(values: Both[]): number[] {
  return values.flatMap(({ own, before, interval }) => [own, before, ...(interval ?? [])].filter((v) => v !== null));
}

/** The places of values on a track, as percentages of its width. */
export class Track {
  private readonly low: number;
  private readonly high: number;

  constructor(
    readonly look: Look,
    values: Both[],
  ) {
    const all = numbersOf(values);
    if (look === "share") [this.low, this.high] = [0, 1];
    else if (look === "amount") [this.low, this.high] = [0, Math.max(...all, 1e-300)];
    else if (look === "signed") {
      const most = Math.max(...all.map(Math.abs), 1e-300);
      [this.low, this.high] = [-most, most];
    } else {
      const [least, most] = [Math.min(...all), Math.max(...all)];
      const air = 0.06 * (most - least) || 1;
      [this.low, this.high] = [least - air, most + air];
    }
  }

  private at(value: number): number {
    const share = (value - this.low) / (this.high - this.low);
    return 100 * Math.min(Math.max(share, 0), 1);
  }

  /** The distance of a value from the left end. */
  place(value: number): string {
    return `${this.at(value).toFixed(2)}%`;
  }

  /** Left end and width of a line from one value to another. */
  span(from: number, to: number): { left: string; width: string } {
    const [a, b] = [this.at(from), this.at(to)];
    return { left: `${Math.min(a, b).toFixed(2)}%`, width: `${Math.abs(b - a).toFixed(2)}%` };
  }
}

/** The tracks of several rates. Predictions and targets share one, so that they can be compared. */
export function tracksOf(store: Store, all: Rate[], attribute: Attribute): Track[] {
  const values = all.map((rate) => valuesOf(store, rate, attribute));
  const dots = values.filter((_, i) => all[i]?.look === "dot").flat();
  return all.map(({ look }, i) => new Track(look, look === "dot" ? dots : (values[i] ?? [])));
}

/** A value of a rate as text. */
export function rateText({ kind }: Rate, value: Value): string {
  return valueText(kind, value);
}

/** The interval of a rate as text. */
export function rateInterval({ kind }: Rate, interval: [number, number]): string {
  return `95% interval: ${intervalText(kind, interval)}`;
}
