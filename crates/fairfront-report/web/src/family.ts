// The families of models: their names, and the shapes of their markers.

import { UNMITIGATED } from "./front.ts";

/** All families, in the order of legends. */
export const FAMILIES = ["linear", "trees", "score", "estimator", "network"] as const;

/** How the score of a model depends on the columns. */
export type Family = (typeof FAMILIES)[number];

const NAMES: Record<Family, { one: string; many: string; short: string }> = {
  linear: { one: "a linear model", many: "linear models", short: "linear" },
  trees: { one: "a model from boosted trees", many: "models from boosted trees", short: "boosted trees" },
  score: { one: "a model from a score column", many: "models from a score column", short: "score column" },
  estimator: { one: "a model from an estimator", many: "models from an estimator", short: "estimator" },
  network: { one: "a neural network", many: "neural networks", short: "neural network" },
};

/** `linear models` */
export function plural(family: Family): string {
  return NAMES[family].many;
}

/** `a linear model` */
export function singular(family: Family): string {
  return NAMES[family].one;
}

/** `linear`, for small places. */
export function familyName(family: Family): string {
  return NAMES[family].short;
}

/** A name from a file; unknown and missing names stand for linear models. */
export function parseFamily(name: string | undefined): Family {
  return FAMILIES.find((family) => family === name) ?? "linear";
}

/** The families of the models of a front. */
export class Families {
  /** Families that have a model, in the order of legends, with the number of their models. */
  readonly counts: [Family, number][];
  /** Whether the report distinguishes families: there is more than one, or one that is not linear. */
  readonly areShown: boolean;

  /** `models` has one family per model. */
  constructor(
    private readonly models: readonly Family[],
    private readonly unmitigated: Family,
  ) {
    const count = (family: Family) => models.filter((one) => one === family).length;
    this.counts = FAMILIES.map((family): [Family, number] => [family, count(family)]).filter(([, n]) => n > 0);
    this.areShown = [...models, unmitigated].some((family) => family !== "linear");
  }

  /** The family of a model, which may be the unmitigated model. */
  of(model: number): Family {
    return model === UNMITIGATED ? this.unmitigated : (this.models[model] ?? "linear");
  }

  /** The family in parentheses, to follow the name of a model; empty if the report does not distinguish families. */
  suffix(model: number): string {
    return this.areShown ? ` (${familyName(this.of(model))})` : "";
  }
}

type Corner = readonly [x: number, y: number];

/** The corners of the shapes, relative to a circle of radius 1 that looks equally large; a circle has no corners. */
const CORNERS: Record<Family, readonly Corner[]> = {
  linear: [],
  trees: [[-0.89, -0.89], [0.89, -0.89], [0.89, 0.89], [-0.89, 0.89]],
  score: [[0, -1.22], [1.12, 0.78], [-1.12, 0.78]],
  estimator: [[0, 1.22], [1.12, -0.78], [-1.12, -0.78]],
  network: [
    [-0.4, -1.15], [0.4, -1.15], [0.4, -0.4], [1.15, -0.4], [1.15, 0.4], [0.4, 0.4],
    [0.4, 1.15], [-0.4, 1.15], [-0.4, 0.4], [-1.15, 0.4], [-1.15, -0.4], [-0.4, -0.4],
  ],
};

/** Starts a path with the shape of a family, about `r` pixels from center to edge. */
export function shape(c: CanvasRenderingContext2D, family: Family, x: number, y: number, r: number): void {
  c.beginPath();
  const corners = CORNERS[family];
  if (corners.length === 0) c.arc(x, y, r, 0, 2 * Math.PI);
  for (const [dx, dy] of corners) c.lineTo(x + r * dx, y + r * dy);
  c.closePath();
}

/** The same shape around the origin, as path data of SVG. */
export function outline(family: Family, r: number): string {
  const corners = CORNERS[family];
  if (corners.length === 0) return `M${-r} 0a${r} ${r} 0 1 1 ${2 * r} 0a${r} ${r} 0 1 1 ${-2 * r} 0z`;
  return `M${corners.map(([x, y]) => `${(r * x).toFixed(2)} ${(r * y).toFixed(2)}`).join("L")}z`;
}
