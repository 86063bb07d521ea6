// The price of a model: its costs and gains compared with the unmitigated model, in one sentence.
//
// The sentence describes the reporting split: test rows if the run has them. A change whose interval
// includes 0 is called "no measurable change"; without intervals, the sentence has values only.

import type { Front, Value } from "./front.ts";
import type { Split } from "./grammar.ts";
import { decides, meaningOf, nameParts, type ObjectiveMeaning, performanceName, targetDigits } from "./meaning.ts";
import { fixed, inTarget } from "./number.ts";

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
    /** Whether it is in the unit of a target that is a number. */
    private readonly isInTarget = false,
  ) {}

  /** The accuracy, or the error of predicted numbers. */
  static performance(split: Split): Quantity {
    const name = performanceName();
    const label = meaningOf(name)?.label ?? name;
    return decides()
      ? new Quantity(`${split}.${name}`, label, 1)
      : new Quantity(`${split}.${name}`, label, targetDigits(), true);
  }

  /** The measure that an objective stands for, or the objective itself. */
  static of({ name: objective, measure }: ObjectiveMeaning, split: Split): Quantity {
    const name = measure ?? objective;
    const { kind, class: of, inside } = nameParts(name);
    const known = meaningOf(kind);
    const about = `${of === null ? "" : ` for ${of}`}${inside === null ? "" : ` (${inside})`}`;
    const label = `${known?.label ?? kind.replaceAll("_", " ")}${about}`;
    if (measure !== null) {
      const isInTarget = known?.unit === "target";
      const digits = isInTarget ? targetDigits() : known?.unit === "difference" ? 3 : 5;
      return new Quantity(`${split}.${measure}`, label, digits, isInTarget);
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
    while (digits < this.digits + 2 && isZero(this.text(nearest, digits))) digits++;
    return digits;
  }

  /** Formats a value; values without a unit are clamped so that sentences stay short. */
  private text(value: number, digits: number): string {
    return this.isInTarget ? inTarget(value, digits) : fixed(Math.min(Math.max(value, -1e7), 1e7), digits);
  }

  /** Formats a value with its sign: `+0.9`, `-0.4`, `0.0`. */
  private signed(value: number): string {
    const text = this.text(Math.abs(value), this.digits);
    return `${isZero(text) ? "" : value < 0 ? "-" : "+"}${text}`;
  }

  /** The change of a measure; less is better. */
  sentence({ from, to, low, high }: Change): string {
    const { label } = this;
    if (from === null || to === null) return `the ${label} is not defined on these rows`;
    if (low !== null && high !== null) {
      if (low <= 0 && high >= 0) {
        return `no measurable change in the ${label} (${this.signed(low)} to ${this.signed(high)})`;
      }
      const [verb, least, most] = high < 0 ? ["cuts", -high, -low] : ["raises", low, high];
      const digits = this.digitsFor(least as number);
      const text = (v: number | string) => this.text(v as number, digits);
      return `${verb} the ${label} from ${text(from)} to ${text(to)} (by ${text(least)} to ${text(most)})`;
    }
    const [was, is] = [this.text(from, this.digits), this.text(to, this.digits)];
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
        const ends = `${this.signed(l)} to ${this.signed(r)}`;
        return `no measurable change in accuracy (${ends} percentage points)`;
      }
      const [least, most] = r < 0 ? [-r, -l] : [l, r];
      const digits = this.digitsFor(least);
      const text = (v: number) => this.text(v, digits);
      return `${verb} ${text(Math.abs(by))} percentage points of accuracy (${text(least)} to ${text(most)})`;
    }
    const amount = this.text(Math.abs(by), this.digits);
    return isZero(amount)
      ? `accuracy stays at ${this.text(100 * to, this.digits)}%`
      : `${verb} ${amount} percentage points of accuracy`;
  }
}

function isZero(text: string): boolean {
  return /^[-0.]*$/.test(text);
}

/** The price of a model of a front. */
export function price(front: Front, model: number): Price {
  const split = front.reporting;
  const performs = Quantity.performance(split);
  const fair = front.meant.slice(1).map((objective) => Quantity.of(objective, split));
  const ofPerformance = performs.change(front, model);
  const ofFair = fair.map((q) => q.change(front, model));
  const said = [decides() ? performs.accuracySentence(ofPerformance) : performs.sentence(ofPerformance)];
  const seen = new Set<string>();
  fair.forEach((quantity, i) => {
    const change = ofFair[i] as Change;
    // Two objectives can stand for the same measure.
    if (!seen.has(change.column)) said.push(quantity.sentence(change));
    seen.add(change.column);
  });
  return { sentence: said.join("; "), split, performance: ofPerformance, fairness: ofFair };
}
