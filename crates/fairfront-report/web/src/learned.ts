// Features that learners give to models, and the coefficients that a model shows.

import type { PageData } from "./data.ts";
import { UNMITIGATED } from "./front.ts";
import { targetClasses } from "./meaning.ts";

/**
 * The scores of a model: one, or one per class. The parameters of all scores are the coefficients of the features, score by
 * score, and then the intercepts.
 */
function scores(data: PageData): { count: number; features: number } {
  const count = targetClasses()?.names.length ?? 1;
  return { count, features: (data.features.length + 1) / count - 1 };
}

/** Whether a parameter, by index, is an intercept. */
export function isIntercept(data: PageData, param: number): boolean {
  const { count, features } = scores(data);
  return param >= count * features;
}

/** Whether a parameter, by index, is the coefficient of a feature from the probabilities of learners. */
export function isLearned(data: PageData, param: number): boolean {
  const { learned } = data.model;
  const feature = param % scores(data).features;
  return !isIntercept(data, param) && learned !== undefined && feature >= learned.first && feature < learned.first + learned.count;
}

/** Whether a model with these parameters uses learners. */
export function combinesLearners(data: PageData, params: number[]): boolean {
  return data.features.some((_, i) => isLearned(data, i) && params[i] !== 0);
}

export function paramsOf(data: PageData, model: number): number[] {
  return model === UNMITIGATED ? data.unmitigatedParams : (data.params[model] ?? []);
}

/** The parameters of one score, by index; the intercept comes last. */
export function paramsOfScore(data: PageData, score: number): number[] {
  const { count, features } = scores(data);
  return [...Array.from({ length: features }, (_, i) => score * features + i), count * features + score];
}

/** The parameters of one score, by index, that a model's kind of score can have; the intercept comes last. */
export function ownParams(data: PageData, model: number, score = 0): number[] {
  const learns = combinesLearners(data, paramsOf(data, model));
  return paramsOfScore(data, score).filter((i) => isIntercept(data, i) || isLearned(data, i) === learns);
}

/**
 * Parameters as a reader can compare them: those of several classes as differences from their mean over the classes, because
 * a change of all scores by the same number changes no decision.
 */
export function centered(data: PageData, params: number[]): number[] {
  const { count } = scores(data);
  if (count === 1) return params;
  const own = params.slice();
  const all = Array.from({ length: count }, (_, score) => paramsOfScore(data, score));
  (all[0] ?? []).forEach((_, at) => {
    const places = all.map((one) => one[at] ?? 0);
    const mean = places.reduce((sum, place) => sum + (params[place] ?? 0), 0) / count;
    for (const place of places) own[place] = (params[place] ?? 0) - mean;
  });
  return own;
}

/** The name of the feature of a coefficient. */
export function featureName(data: PageData, param: number): string {
  const name = data.features[param] ?? "";
  const of = targetClasses()?.names[Math.floor(param / scores(data).features)];
  return of === undefined ? name : name.slice(of.length + 1);
}

/** Whether a coefficient of a learned feature is about the outcome: its probability, or that of a class. */
export function isOfOutcome(data: PageData, param: number): boolean {
  const { features, count } = scores(data);
  const first = data.model.learned?.first ?? 0;
  if (count === 1) return param === first;
  return (param % features) - first < count && /: (log )?probability of /.test(featureName(data, param));
}

/** The name of a parameter; learned features are in words. */
export function paramName(data: PageData, param: number): string {
  if (isIntercept(data, param)) return "(intercept)";
  const name = featureName(data, param);
  if (!isLearned(data, param)) return name;
  if (targetClasses() === null && isOfOutcome(data, param)) {
    return `probability of ${data.run.learners?.[0]?.predicts ?? "a positive label"}`;
  }
  // Names of learned features start with the kind of learner.
  const about = name.slice(name.indexOf(": ") + 2);
  return isOfOutcome(data, param) ? about : `the columns' information about ${about}`;
}
