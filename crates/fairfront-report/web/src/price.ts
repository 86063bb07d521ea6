// What a point costs and brings, in one sentence. All numbers of the sentence come from values rounded
// first (shares to thousandths, others to hundred thousandths), so that what it says adds up.

import type { Front, Value } from "./front.ts";
import type { Split } from "./grammar.ts";
import { fixed } from "./number.ts";

/** A measure at two models. */
export interface Change {
  column: string;
  from: Value;
  to: Value;
}

export interface Price {
  sentence: string;
  split: Split;
  accuracy: Change;
  /** For each objective but the first the measure it stands for, or itself. */
  fairness: Change[];
  /** The next point towards fairness, where there is one. */
  next: number | null;
}

/** What an objective is a smooth version of, or stands in for. */
const STANDS_FOR: Record<string, readonly [measure: string, words: string]> = {
  demographic_parity: ["demographic_parity_difference", "demographic parity"],
  disparate_impact: ["demographic_parity_difference", "demographic parity"],
  true_positive_rate_parity: ["equal_opportunity_difference", "equal opportunity"],
  equal_opportunity: ["equal_opportunity_difference", "equal opportunity"],
  false_positive_rate_parity: ["false_positive_rate_difference", "false positive rate parity"],
  predictive_equality: ["false_positive_rate_difference", "false positive rate parity"],
  equalized_odds: ["equalized_odds_difference", "equalized odds"],
  mutual_information: ["mutual_information", "mutual information"],
};

/** A quantity that the sentence speaks of. */
export class Quantity {
  constructor(
    readonly column: string,
    readonly label: string,
    /** Whether it is a share, of which hundredths are points. */
    readonly isShare: boolean,
  ) {}

  static accuracy(split: Split): Quantity {
    return new Quantity(`${split}.accuracy`, "accuracy", true);
  }

  /** What an objective stands for. */
  static of(objective: string, split: Split): Quantity {
    const open = objective.indexOf("(");
    const kind = open < 0 ? objective : objective.slice(0, open);
    const attribute = open < 0 ? null : objective.slice(open + 1).replace(/\)$/, "");
    const stands = Object.hasOwn(STANDS_FOR, kind) ? STANDS_FOR[kind] : undefined;
    const label = (words: string) =>
      words.replaceAll("_", " ") + (attribute === null ? "" : ` (${attribute})`);
    if (stands) {
      const of = attribute === null ? "" : `(${attribute})`;
      const isShare = stands[0].endsWith("_difference");
      return new Quantity(`${split}.${stands[0]}${of}`, label(stands[1]), isShare);
    }
    // An error rate with costs is a column of its own.
    if (kind === "error_rate" && attribute !== null) {
      return new Quantity(`${split}.${objective}`, label(kind), false);
    }
    const prefix = split === "train" ? "" : `${split}.`;
    return new Quantity(`${prefix}objective.${objective}`, label(kind), kind.endsWith("_difference"));
  }

  /** The value in its smallest units; what no sentence could hold is cut off. */
  rounded(value: number): number {
    const units = value * (this.isShare ? 1e3 : 1e5);
    const whole = Math.sign(units) * Math.round(Math.abs(units));
    return Math.min(Math.max(whole, -1e12), 1e12) + 0;
  }

  value(units: number): string {
    return this.isShare ? fixed(units / 1e3, 3) : fixed(units / 1e5, 5);
  }

  bareAmount(units: number): string {
    return this.isShare ? fixed(Math.abs(units) / 10, 1) : this.value(Math.abs(units));
  }

  amount(units: number): string {
    return this.isShare ? `${this.bareAmount(units)} points` : this.bareAmount(units);
  }

  change(front: Front, from: number | null, to: number): Change {
    const values = front.values(this.column);
    const start = from === null ? front.unmitigated.get(this.column) : values?.[from];
    return { column: this.column, from: start ?? null, to: values?.[to] ?? null };
  }

  /** From where to where, in smallest units. */
  units({ from, to }: Change): [number, number] | null {
    return from === null || to === null ? null : [this.rounded(from), this.rounded(to)];
  }
}

/** What a point of a front costs and brings against the unmitigated model and the next point. */
export function price(front: Front, id: number): Price {
  const split = front.split;
  const accuracy = Quantity.accuracy(split);
  const fair = front.objectives.slice(1).map((name) => Quantity.of(name, split));
  const ofAccuracy = accuracy.change(front, null, id);
  const ofFair = fair.map((q) => q.change(front, null, id));
  const next = nextPoint(front, id, accuracy, fair);
  let sentence = againstUnmitigated(accuracy, ofAccuracy, fair, ofFair);
  if (ofFair.some((change) => change.to !== null)) {
    const step =
      next === null
        ? "no point of the front is fairer"
        : againstNext(
            accuracy,
            accuracy.change(front, id, next),
            fair,
            fair.map((q) => q.change(front, id, next)),
          );
    sentence += `; ${step}`;
  }
  return { sentence, split, accuracy: ofAccuracy, fairness: ofFair, next };
}

function againstUnmitigated(
  accuracy: Quantity,
  ofAccuracy: Change,
  fair: Quantity[],
  ofFair: Change[],
): string {
  const bought: string[] = [];
  const others: string[] = [];
  fair.forEach((quantity, i) => {
    const label = quantity.label;
    const units = quantity.units(ofFair[i] as Change);
    if (units === null) {
      others.push(`; ${label} cannot be given`);
      return;
    }
    const [from, to] = units;
    const [was, is] = [quantity.value(from), quantity.value(to)];
    const amount = quantity.amount(to - from);
    if (to === from) others.push(`; ${label} stays at ${is}`);
    else if (to < from) bought.push(`${amount} of ${label}: ${was} → ${is}`);
    else others.push(`; ${label} worsens by ${amount}: ${was} → ${is}`);
  });
  const gain = bought.join(", and ");
  const units = accuracy.units(ofAccuracy);
  const cost = units === null ? null : units[0] - units[1];
  const amount = accuracy.amount(cost ?? 0);
  const none = bought.length === 0;
  let head: string;
  if (cost === null || units === null) {
    head = none
      ? "accuracy cannot be given"
      : `a cost in accuracy that cannot be given buys ${gain}`;
  } else if (cost === 0) {
    head = none ? `accuracy stays at ${accuracy.value(units[1])}` : `no accuracy is paid for ${gain}`;
  } else if (cost > 0) {
    head = none ? `${amount} of accuracy buy nothing` : `${amount} of accuracy buy ${gain}`;
  } else {
    head = none
      ? `accuracy rises by ${amount}`
      : `accuracy rises by ${amount}, along with ${gain}`;
  }
  return head + others.join("");
}

function againstNext(
  accuracy: Quantity,
  ofAccuracy: Change,
  fair: Quantity[],
  ofFair: Change[],
): string {
  const units = accuracy.units(ofAccuracy);
  const cost = units === null ? null : units[0] - units[1];
  const amount = accuracy.amount(cost ?? 0);
  const verb =
    cost === null
      ? "brings"
      : cost === 0
        ? "costs nothing more for"
        : cost > 0
          ? `costs ${amount} more for`
          : `gives ${amount} back for`;
  const bought: string[] = [];
  const others: string[] = [];
  fair.forEach((quantity, i) => {
    const both = quantity.units(ofFair[i] as Change);
    if (both === null || both[0] === both[1]) return;
    const change = both[1] - both[0];
    if (change > 0) others.push(`, while ${quantity.label} worsens by ${quantity.amount(change)}`);
    else if (fair.length === 1) bought.push(quantity.bareAmount(change));
    else bought.push(`${quantity.amount(change)} of ${quantity.label}`);
  });
  return `the next step towards fairness ${verb} ${bought.join(" and ")}${others.join("")}`;
}

/**
 * The next point towards fairness, in rounded values. Of the points that none dominates in accuracy and
 * the measures of fairness, and whose sum of these measures is smaller, it is the one with the largest
 * sum; of equal ones the one with the highest accuracy, then the first in the order of ties. Measures
 * that the chosen point does not have take no part, nor do points that lack one of the others.
 */
function nextPoint(front: Front, id: number, accuracy: Quantity, fair: Quantity[]): number | null {
  const rounded = (quantity: Quantity): Value[] | null => {
    const values = front.values(quantity.column);
    if (!values || values[id] === null) return null;
    // In one unit, so that they can be added.
    const unit = quantity.isShare ? 100 : 1;
    return values.map((v) => (v === null ? null : unit * quantity.rounded(v)));
  };
  const ofFair = fair.map(rounded).filter((c): c is Value[] => c !== null);
  const loss = rounded(accuracy) ?? new Array<Value>(front.length).fill(0);
  // The loss first; the smaller, the better.
  const ofPoint = (point: number): number[] | null => {
    const first = loss[point] ?? null;
    if (first === null) return null;
    const all = [-first];
    for (const column of ofFair) {
      const value = column[point] ?? null;
      if (value === null) return null;
      all.push(value);
    }
    return all;
  };
  const own = ofPoint(id);
  if (own === null) return null;
  const sum = (values: number[]) => values.slice(1).reduce((a, b) => a + b, 0);
  const points = front.order.flatMap((point, at) => {
    const values = ofPoint(point);
    return values === null ? [] : [{ point, at, values, sum: sum(values) }];
  });
  const dominated = (values: number[]) =>
    points.some(({ values: other }) => {
      let better = false;
      for (let i = 0; i < values.length; i++) {
        const [a, b] = [other[i] as number, values[i] as number];
        if (a > b) return false;
        if (a < b) better = true;
      }
      return better;
    });
  const fairer = points.filter((p) => p.sum < sum(own));
  fairer.sort((a, b) => b.sum - a.sum || (a.values[0] as number) - (b.values[0] as number) || a.at - b.at);
  return fairer.find((p) => !dominated(p.values))?.point ?? null;
}
