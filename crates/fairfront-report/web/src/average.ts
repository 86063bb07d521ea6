// Mean predictions of groups in sentences, for targets that are numbers.

import type { Attribute } from "./data.ts";
import { type Front, UNMITIGATED } from "./front.ts";
import { valueText } from "./label.ts";
import { idOf } from "./modelId.ts";
import { groupName, type Statement } from "./people.ts";

const MEAN = "mean_prediction";

/**
 * One sentence per group of an attribute: its mean prediction, the difference from the mean of the target, and the mean
 * prediction of another model, on the reporting split.
 */
export function averageStatements(
  front: Front,
  model: number,
  { name: attribute, groups }: Attribute,
  target: string,
  other: number = UNMITIGATED,
): Statement[] {
  const text = (value: number) => valueText(MEAN, value);
  return groups.flatMap((group) => {
    const of = (kind: string) => `${front.reporting}.${kind}(${attribute}=${group})`;
    const [mean, actual] = [front.at(of(MEAN), model), front.at(of("mean_target"), model)];
    if (mean === null || actual === null) return [];
    let said = `for ${groupName(attribute, group)}, the mean prediction is ${text(mean)}`;
    const interval = front.interval(of(MEAN), model);
    if (interval !== null) said += ` (${text(interval[0])} to ${text(interval[1])})`;
    const [off, same] = [text(Math.abs(mean - actual)), text(0)];
    said +=
      off === same
        ? `, equal to the mean of ${target}`
        : `, ${off} ${mean > actual ? "above" : "below"} the mean of ${target}, ${text(actual)}`;
    const before = other === model ? null : front.at(of(MEAN), other);
    if (before !== null) said += `; ${other === UNMITIGATED ? "unmitigated" : `model ${idOf(other)}`}: ${text(before)}`;
    return [{ text: said, group, rate: MEAN }];
  });
}
