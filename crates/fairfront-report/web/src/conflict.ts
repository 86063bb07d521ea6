// Whether two objectives conflict on this data.

import { h, scrolling, section } from "./dom.ts";
import { type Column, ERROR_RATE, known, scaled } from "./front.ts";
import { capital, columnName, measureOf, modelName, rowsName, words } from "./label.ts";
import { fixed } from "./number.ts";
import type { Store } from "./store.ts";

/** Ranks; equal values get the mean of their ranks. */
function ranks(values: number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const found = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length; ) {
    let end = start + 1;
    while (end < order.length && values[order[end] ?? 0] === values[order[start] ?? 0]) end++;
    for (let i = start; i < end; i++) found[order[i] ?? 0] = (start + end - 1) / 2;
    start = end;
  }
  return found;
}

function correlation(a: number[], b: number[]): number | null {
  const mean = (v: number[]) => v.reduce((x, y) => x + y, 0) / v.length;
  const [ma, mb] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  a.forEach((v, i) => {
    const [x, y] = [v - ma, (b[i] ?? 0) - mb];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  });
  return aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : null;
}

/** Rank correlation (Spearman) of two columns over the models that have both values. */
export function rankCorrelation(a: (number | null)[], b: (number | null)[]): number | null {
  const both = a.flatMap((v, i) => {
    const w = b[i] ?? null;
    return v === null || w === null ? [] : [[v, w] as const];
  });
  if (both.length < 3) return null;
  return correlation(ranks(both.map(([v]) => v)), ranks(both.map(([, w]) => w)));
}

/** Largest regrets, as shares of the front's range, for no conflict and for little conflict. */
const [NOTHING, GOOD] = [0.05, 0.25];
/** At this correlation or less, a gain in one is mostly a loss in the other. */
const AGAINST = -0.3;

export interface Conflict {
  /** Rank correlation of how bad models are in both; `null` if it is not defined. */
  correlation: number | null;
  /** The index of the model that gives up least in the worse of the two. */
  best: number;
  /** How much that model gives up, as a share of the front's range. */
  regret: number;
  verdict: "none" | "little" | "conflict";
}

/** How much two columns conflict over a front. */
export function conflict(a: Column, b: Column): Conflict | null {
  const [x, y] = [scaled(a), scaled(b)];
  let best = -1;
  let regret = Infinity;
  x.forEach((v, i) => {
    const w = y[i] ?? null;
    if (v === null || w === null) return;
    const worse = Math.max(v, w);
    if (worse < regret) [regret, best] = [worse, i];
  });
  if (best < 0) return null;
  const correlation = rankCorrelation(x, y);
  const little = regret <= GOOD && (correlation === null || correlation > AGAINST);
  return {
    correlation,
    best,
    regret,
    verdict: regret <= NOTHING ? "none" : little ? "little" : "conflict",
  };
}

const VERDICTS = { none: "no conflict", little: "little conflict", conflict: "conflict" } as const;

export function conflicts(store: Store): HTMLElement | null {
  const { front } = store;
  if (front.objectives.length < 2 || front.length < 2) return null;
  const element = section(
    "conflict",
    "Are the objectives in conflict?",
    "Two objectives conflict if no single model is good in both. If one model is the best or almost the best in both, " +
      "there is nothing to trade off.",
  );
  const body = h("tbody");
  const caption = h("caption");
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "pair"),
    h("th", { scope: "col" }, "verdict"),
    h("th", { scope: "col" }, "explanation"),
    h("th", { scope: "col", title: "Spearman's rank correlation of how bad the models are in both" }, "correlation along the front"),
  );
  const note = h(
    "p",
    { class: "note" },
    "Rank correlation: −1 if every gain in one is a loss in the other, 1 if both improve together. The verdict depends " +
      "on how much the model that gives up least in the worse of the two gives up: no conflict up to 5% of the range; " +
      "little conflict up to 25%, unless the correlation is −0.3 or less; otherwise conflict.",
  );
  element.append(scrolling(h("table", { class: "plain" }, caption, h("thead", {}, head), body), "Pairs of objectives"), note);
  const draw = () => {
    const columns = front.judgedBy(store.split);
    caption.textContent = `On ${rowsName(store.split)} rows`;
    body.replaceChildren();
    columns.forEach((a, i) => {
      for (const b of columns.slice(i + 1)) body.append(row(store, a, b));
    });
  };
  store.on(["view"], draw);
  draw();
  return element;
}

function isNoise(store: Store, column: Column): boolean {
  const measure = measureOf(column.name);
  return store.front.withinNoise(columnName(measure === ERROR_RATE ? "accuracy" : measure, store.split));
}

function title(column: Column): string {
  const measure = measureOf(column.name);
  return measure === ERROR_RATE ? "accuracy" : words(measure, 24);
}

function row(store: Store, a: Column, b: Column): HTMLElement {
  const found = conflict(a, b);
  const pair = h("th", { scope: "row" }, `${capital(title(a))} and ${title(b)}`);
  if (!found || known(a.values).length === 0) {
    return h("tr", {}, pair, h("td", {}, "not defined"), h("td", {}, "No model has both values."), h("td", {}, "–"));
  }
  const noise = [a, b].filter((column) => isNoise(store, column));
  if (noise.length > 0) {
    const which = noise.map(title).join(" and ");
    const why = `No model differs measurably from the unmitigated model in ${which} on ${rowsName(store.split)} rows.`;
    return h("tr", {}, pair, h("td", { class: "verdict" }, "within noise"), h("td", {}, why), h("td", {}, "–"));
  }
  const share = `${Math.round(100 * found.regret)}%`;
  const pick = h("button", { type: "button", class: "link" }, modelName(found.best));
  pick.addEventListener("click", () => store.pick(found.best));
  pick.addEventListener("pointerenter", () => store.hover(found.best));
  pick.addEventListener("pointerleave", () => store.hover(null));
  const away = ` is at most ${share} of the range away from the best in both.`;
  const words = {
    none: ["There is nothing to trade off: ", pick, away],
    little: ["They hardly conflict: ", pick, away],
    conflict:
      found.regret <= GOOD
        ? ["More of one costs some of the other, but one model is good in both: ", pick, away]
        : ["More of one costs much of the other: even ", pick, ` gives up ${share} of the range in one of them.`],
  }[found.verdict];
  return h(
    "tr",
    {},
    pair,
    h("td", { class: `verdict ${found.verdict}` }, VERDICTS[found.verdict]),
    h("td", {}, ...words),
    h("td", { class: "number" }, found.correlation === null ? "–" : fixed(found.correlation, 2).replace("-", "−")),
  );
}
