// The price of a model: its costs and gains compared with the unmitigated model, in one sentence.
//
// The sentence describes the reporting split: test rows if the run has them. A change whose interval
// includes 0 is called "no measurable change"; without intervals, the sentence has values only.

import type { Front, Value } from "./front.ts";
import type { Split } from "./grammar.ts";
import { kindOf, meaningOf, type ObjectiveMeaning } from "./meaning.ts";
import { fixed } from "./number.ts";

/** A measure for the unmitigated model and for a model. */
export interface Change {
  column: string;
  from: Value;
  to: Value;
  /** The ends of the 95% interval of `to − from`, if there is one. */
  low: Value;
  high: Value;
}

export interface Price {
  sentence: string;
  split: Split;
  performance: Change;
  /** For each objective except the first, the measure it stands for, or the objective itself. */
  fairness: Change[];
}

/** A quantity in the sentence. */
export class Quantity {
  constructor(
    readonly column: string,
    readonly label: string,
    /** Digits after the decimal point. */
    private readonly digits: number,
  ) {}

  static accuracy(split: Split): Quantity {
    return new Quantity(`${split}.accuracy`, "accuracy", 1);
  }

  /** The measure that an objective stands for, or the objective itself. */
  static of({ name: objective, measure }: ObjectiveMeaning, split: Split): Quantity {
    const name = measure ?? objective;
    const kind = kindOf(name);
    const known = meaningOf(kind);
    const inside = name.slice(kind.length);
    const label = `${known?.label ?? kind.replaceAll("_", " ")}${inside === "" ? "" : ` ${inside}`}`;
    if (measure !== null) {
      return new Quantity(`${split}.${measure}`, label, known?.unit === "difference" ? 3 : 5);
    }
    const prefix = split === "train" ? "" : `${split}.`;
    return new Quantity(`${prefix}objective.${objective}`, label, 5);
  }

  change(front: Front, model: number): Change {
    const at = (column: string) => front.values(column)?.[model] ?? null;
    const [low, high] = [at(`${this.column}.change_low`), at(`${this.column}.change_high`)];
    const known = low !== null && high !== null;
    return {
      column: this.column,
      from: front.unmitigated.get(this.column) ?? null,
      to: at(this.column),
      low: known ? low : null,
      high: known ? high : null,
    };
  }

  /** The number of digits with which `nearest`, the interval end nearest to 0, does not round to 0. */
  private digitsFor(nearest: number): number {
    let digits = this.digits;
    while (digits < this.digits + 2 && isZero(short(nearest, digits))) digits++;
    return digits;
  }

  /** The change of a fairness measure; less is better. */
  sentence({ from, to, low, high }: Change): string {
    const { label } = this;
    if (from === null || to === null) return `the ${label} is not defined on these rows`;
    if (low !== null && high !== null) {
      if (low <= 0 && high >= 0) {
        return `no measurable change in the ${label} (${signed(low, this.digits)} to ${signed(high, this.digits)})`;
      }
      const [verb, least, most] = high < 0 ? ["cuts", -high, -low] : ["raises", low, high];
      const digits = this.digitsFor(least as number);
      const text = (v: number | string) => short(v as number, digits);
      return `${verb} the ${label} from ${text(from)} to ${text(to)} (by ${text(least)} to ${text(most)})`;
    }
    const [was, is] = [short(from, this.digits), short(to, this.digits)];
    if (was === is) return `leaves the ${label} at ${is}`;
    return `${to < from ? "cuts" : "raises"} the ${label} from ${was} to ${is}`;
  }

  /** The change of accuracy, in percentage points. */
  accuracySentence({ from, to, low, high }: Change): string {
    if (from === null || to === null) return "accuracy is not defined on these rows";
    const by = 100 * (to - from);
    const verb = by < 0 ? "costs" : "gains";
    if (low !== null && high !== null) {
      const [l, r] = [100 * low, 100 * high];
      if (l <= 0 && r >= 0) {
        const ends = `${signed(l, this.digits)} to ${signed(r, this.digits)}`;
        return `no measurable change in accuracy (${ends} percentage points)`;
      }
      const [least, most] = r < 0 ? [-r, -l] : [l, r];
      const digits = this.digitsFor(least);
      const text = (v: number) => short(v, digits);
      return `${verb} ${text(Math.abs(by))} percentage points of accuracy (${text(least)} to ${text(most)})`;
    }
    const amount = short(Math.abs(by), this.digits);
    return isZero(amount)
      ? `accuracy stays at ${short(100 * to, this.digits)}%`
      : `${verb} ${amount} percentage points of accuracy`;
  }
}

/** Formats a value, clamped so that sentences stay short. */
function short(value: number, digits: number): string {
  return fixed(Math.min(Math.max(value, -1e7), 1e7), digits);
}

function isZero(text: string): boolean {
  return /^[-0.]*$/.test(text);
}

/** Formats a value with its sign: `+0.9`, `-0.4`, `0.0`. */
function signed(value: number, digits: number): string {
  const text = short(Math.abs(value), digits);
  return `${isZero(text) ? "" : value < 0 ? "-" : "+"}${text}`;
}

/** The price of a model of a front. */
export function price(front: Front, model: number): Price {
  const split = front.reporting;
  const accuracy = Quantity.accuracy(split);
  const fair = front.meant.slice(1).map((objective) => Quantity.of(objective, split));
  const ofAccuracy = accuracy.change(front, model);
  const ofFair = fair.map((q) => q.change(front, model));
  const said = [accuracy.accuracySentence(ofAccuracy)];
  const seen = new Set<string>();
  fair.forEach((quantity, i) => {
    const change = ofFair[i] as Change;
    // Two objectives can stand for the same measure.
    if (!seen.has(change.column)) said.push(quantity.sentence(change));
    seen.add(change.column);
  });
  return { sentence: said.join("; "), split, performance: ofAccuracy, fairness: ofFair };
}
