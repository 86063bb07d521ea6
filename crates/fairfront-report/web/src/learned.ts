// Features that learners give to models, and the coefficients that a model shows.

import type { PageData } from "./data.ts";
import { UNMITIGATED } from "./front.ts";

/** Whether a feature, by index, is computed from the probabilities of learners. */
export function isLearned({ model }: PageData, feature: number): boolean {
  const { learned } = model;
  return learned !== undefined && feature >= learned.first && feature < learned.first + learned.count;
}

/** Whether a model with these parameters uses learners. */
export function combinesLearners(data: PageData, params: number[]): boolean {
  return data.features.some((_, i) => isLearned(data, i) && params[i] !== 0);
}

export function paramsOf(data: PageData, model: number): number[] {
  return model === UNMITIGATED ? data.unmitigatedParams : (data.params[model] ?? []);
}

/** The parameters, by index, that a model's kind of score can have; the intercept comes last. */
export function ownParams(data: PageData, model: number): number[] {
  const learns = combinesLearners(data, paramsOf(data, model));
  const features = data.features.map((_, i) => i).filter((i) => isLearned(data, i) === learns);
  return [...features, data.features.length];
}

/** The name of a parameter; learned features are in words. */
export function paramName(data: PageData, param: number): string {
  const name = data.features[param];
  if (name === undefined) return "(intercept)";
  if (!isLearned(data, param)) return name;
  if (param === data.model.learned?.first) {
    return `probability of ${data.run.learners?.[0]?.predicts ?? "a positive label"}`;
  }
  // Names of learned features start with the kind of learner.
  return `the columns' information about ${name.slice(name.indexOf(": ") + 2)}`;
}
