// Rates of groups as counts of people: "of 100 people with sex = F, 40 are selected".

import type { Attribute } from "./data.ts";
import { shorten } from "./dom.ts";
import { type Front, UNMITIGATED, type Value } from "./front.ts";
import { decidedText } from "./label.ts";
import { type Classes, meaningOf } from "./meaning.ts";
import { idOf } from "./modelId.ts";
import { fixed } from "./number.ts";
import { comparedClasses } from "./rate.ts";

interface Rate {
  name: string;
  /** Whether it covers people labeled positive (`true`), labeled negative, or all people (`null`). */
  labeled: boolean | null;
  happens: string;
}

const SELECTED: Rate = { name: "selection_rate", labeled: null, happens: "selected" };
const REFUSED: Rate = { name: "false_negative_rate", labeled: true, happens: "refused" };
const WRONGLY_SELECTED: Rate = { name: "false_positive_rate", labeled: false, happens: "selected" };

const RATES = [SELECTED, REFUSED, WRONGLY_SELECTED];

/** The rates that the objectives of an attribute compare. */
function ratesOf(front: Front, attribute: string): Rate[] {
  const measures = front.meant.slice(1).flatMap(({ measure }) => measure ?? []);
  const about = measures.filter((measure) => measure.endsWith(`(${attribute})`));
  const names = new Set(about.flatMap((measure) => meaningOf(measure)?.compares ?? []));
  const rates = [...names].flatMap((name) => RATES.find((rate) => rate.name === name) ?? []);
  return rates.length === 0 ? [SELECTED] : rates;
}

/** A share as a whole number out of 100. */
function ofHundred(share: number): string {
  return fixed(100 * Math.min(Math.max(share, 0), 1), 0);
}

/** `sex = F`; the name of an interval contains the name of its column. */
export function groupName(attribute: string, group: string): string {
  const isInterval = group.includes(`${attribute}<`) || group.includes(`${attribute}>=`);
  return isInterval ? group : `${attribute} = ${group}`;
}

/** A sentence about a group, and the rate that it states. */
export interface Statement {
  text: string;
  group: string;
  rate: string;
}

/** Sentences about the groups of an attribute for a model, compared with another model, on the reporting split. */
export function groupStatements(
  front: Front,
  model: number,
  attribute: Attribute,
  label: string,
  other: number = UNMITIGATED,
): Statement[] {
  const rates = ratesOf(front, attribute.name).map(({ name, labeled, happens }) => ({
    name,
    among: labeled === null ? "" : labeled ? ` labeled ${label}` : ` not labeled ${label}`,
    happens,
  }));
  return statements(front, model, attribute, rates, other);
}

/** A rate in sentences: its column without the group, the people that it covers, and their share that it counts. */
interface Said {
  name: string;
  among: string;
  happens: string;
}

/** One sentence per rate and group. */
function statements(
  front: Front,
  model: number,
  { name: attribute, groups }: Attribute,
  rates: Said[],
  other: number,
): Statement[] {
  const split = front.reporting;
  const at = (column: string, of: number): Value => front.at(column, of);
  return rates.flatMap((rate) =>
    groups.flatMap((group) => {
      const column = `${split}.${rate.name}(${attribute}=${group})`;
      const value = at(column, model);
      if (value === null) return [];
      const count = ofHundred(value);
      let said = `of 100 people with ${groupName(attribute, group)}${rate.among}, ${count} ${count === "1" ? "is" : "are"} ${rate.happens}`;
      const [low, high] = [at(`${column}.low`, model), at(`${column}.high`, model)];
      if (low !== null && high !== null) said += ` (${ofHundred(low)} to ${ofHundred(high)})`;
      const before = other === model ? null : at(column, other);
      if (before !== null) {
        said += `; ${other === UNMITIGATED ? "unmitigated" : `model ${idOf(other)}`}: ${ofHundred(before)}`;
      }
      return [{ text: said, group, rate: rate.name }];
    }),
  );
}

/**
 * Sentences about decisions between classes, by class and group: `of 100 people with sex = F labeled high, 63 are decided
 * high`.
 */
export function classStatements(
  front: Front,
  model: number,
  attribute: Attribute,
  classes: Classes,
  other: number = UNMITIGATED,
): Statement[] {
  const decided = comparedClasses(classes).map((of) => ({
    name: `selection_rate[${of}]`,
    among: "",
    happens: decidedText(of),
  }));
  const right = classes.names.map((of) => ({
    name: `recall[${of}]`,
    among: ` labeled ${shorten(of, 40)}`,
    happens: `decided ${shorten(of, 40)}`,
  }));
  return statements(front, model, attribute, [...decided, ...right], other);
}
