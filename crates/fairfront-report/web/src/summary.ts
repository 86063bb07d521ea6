// The top of the report: the decision, the data, the warnings, and the ranges of the measures.

import type { PageData } from "./data.ts";
import { h, name } from "./dom.ts";
import { extent, UNMITIGATED } from "./front.ts";
import {
  capital,
  columnOf,
  direction,
  explain,
  type Measure,
  pricedMeasures,
  rowsName,
  shortName,
  unitText,
  valueText,
  words,
} from "./label.ts";
import { decides, targetClasses } from "./meaning.ts";
import { counted, grouped } from "./number.ts";
import type { Store } from "./store.ts";
import { warningBox } from "./warning.ts";

/** `a, b and c`, each as its own element. */
export function listed(names: string[], most = 6): (Node | string)[] {
  const shown = names.slice(0, most);
  const rest = names.length - shown.length;
  return shown.flatMap((text, i) => {
    const last = i === shown.length - 1 && rest === 0;
    const between = i === 0 ? "" : last ? " and " : ", ";
    return [between, h("strong", {}, name(text, 40))];
  }).concat(rest > 0 ? [` and ${grouped(rest)} more`] : []);
}

export function summary(store: Store): HTMLElement {
  const { data, front } = store;
  const rows = Object.values(data.run.rows).reduce((a, b) => a + b, 0);
  const { target, positive } = data.run.spec;
  const attributes = data.attributes.map((a) => a.name);
  const element = h(
    "header",
    { class: "summary" },
    h("p", { class: "brand" }, h("span", { class: "mark" }, "fairfront"), " report"),
    h("h1", {}, front.length === 1 ? "One model" : `Choose among ${counted(front.length, "model")}`),
  );
  const lede = h("p", { class: "lede" }, front.length === 1 ? "It " : "Each model ");
  const predicted = h("strong", {}, name(target ?? "the target", 40));
  const classes = targetClasses();
  if (classes !== null) {
    lede.append(
      `decides between ${classes.names.length} ${classes.ordered ? "ordered " : ""}classes of `,
      predicted,
      " (",
      ...listed(classes.names),
      ")",
    );
  } else if (decides()) lede.append("decides whether ", predicted, " is ", h("strong", {}, name(positive ?? "positive", 40)));
  else lede.append("predicts the number ", predicted);
  lede.append(`, from ${counted(data.inputs.length, "column")} of `, h("strong", {}, name(data.run.source, 60)));
  const read = data.run.dropped?.read ?? rows;
  lede.append(read > rows ? ` (${grouped(rows)} of ${grouped(read)} rows). ` : ` (${grouped(rows)} rows). `);
  if (attributes.length > 0 && front.length > 1) {
    lede.append(`They differ in ${decides() ? "accuracy" : "error"} and in how equally they treat groups by `, ...listed(attributes), ". ");
  }
  element.append(lede);
  const warnings = warningBox(data.run.messages);
  if (warnings !== null) element.append(warnings);
  if (data.opening.model === null) {
    element.append(
      h("p", { class: "problem", id: "opening" }, `The report opens at the unmitigated model: ${data.opening.reason}.`),
    );
  }
  element.append(ranges(store));
  return element;
}

/** The range of the performance and of each fairness measure, with the value of the selected model. */
function ranges(store: Store): HTMLElement {
  const list = h("dl", { class: "ranges" });
  for (const measure of pricedMeasures(store.front).slice(0, 6)) list.append(range(store, measure));
  return list;
}

function range(store: Store, measure: Measure): HTMLElement {
  const { front } = store;
  const side = direction(measure) === "large" ? "higher is better" : "lower is better";
  const term = h("dt", {}, `${capital(words(measure, 24))}${unitText(measure, store.data.run.spec.target)}`);
  const meaning = explain(measure);
  if (meaning !== null) term.title = capital(meaning);
  const span = h("span", { class: "span" });
  const track = h("span", { class: "track", "aria-hidden": "true" });
  const start = h("span", { class: "tick start" });
  const own = h("span", { class: "tick own" });
  track.append(start, own);
  const said = h("span", { class: "said" });
  const element = h("div", { class: "range" }, term, h("dd", {}, span, track, said));
  const draw = () => {
    const column = columnOf(front, measure, store.split);
    const before = front.unmitigated.get(column?.name ?? "") ?? null;
    const value = front.at(column?.name ?? "", store.chosen);
    const [low, high] = extent(column?.values ?? []);
    const [least, most] = extent([low, high, before].map((v) => (v === null || !Number.isFinite(v) ? null : v)));
    const place = (v: number) => `${most > least ? (100 * (v - least)) / (most - least) : 50}%`;
    span.replaceChildren(
      low <= high ? `${valueText(measure, low)} to ${valueText(measure, high)}` : "not defined",
      h("span", { class: "which" }, ` ${front.withinNoise(column?.name ?? "") ? "all within noise" : side}`),
    );
    start.hidden = before === null;
    own.hidden = value === null;
    if (before !== null) start.style.left = place(before);
    if (value !== null) own.style.left = place(value);
    said.replaceChildren(
      h("span", { class: "own" }, `${shortName(store.chosen)}: ${valueText(measure, value)}`),
      store.chosen === UNMITIGATED ? "" : h("span", { class: "start" }, `unmitigated: ${valueText(measure, before)}`),
      h("span", { class: "soft" }, `${rowsName(store.split)} rows`),
    );
  };
  store.on(["choice", "view"], draw);
  draw();
  return element;
}

/** The number of rows of a split. */
export function rowsOf(data: PageData, split: string): string {
  return grouped(data.run.rows[split] ?? 0);
}
