// Decisions between several classes: by class in each group as tables, and measures of each class.

import { daggerOf } from "./compared.ts";
import type { Attribute } from "./data.ts";
import { h, name, scrolling, shorten } from "./dom.ts";
import type { Front, Value } from "./front.ts";
import { capital, columnOf, explain, intervalText, modelName, rowsName, shortName, valueText } from "./label.ts";
import { type Classes, meaningOf, targetClasses } from "./meaning.ts";
import { cell, fixed, grouped } from "./number.ts";
import { groupName } from "./people.ts";
import type { Store } from "./store.ts";

/** With more classes, cells have no room for the values of a second model. */
const MOST_COMPARED = 5;

/** The rows of a class in a group by decision. */
export interface ClassRow {
  /** Their number or weight. */
  rows: number;
  /** The column of the count of each decision. */
  columns: string[];
  /** The share of each decision; `null` without rows. */
  shares: Value[];
}

/** The decisions of a model in a group, class by class; `null` if the run does not count them. */
export function classRows(front: Front, model: number, split: string, of: string, { names }: Classes): ClassRow[] | null {
  const all = names.map((actual) => {
    const columns = names.map((decided) => `${split}.decisions[${actual}>${decided}](${of})`);
    const counts = columns.map((column) => front.at(column, model));
    const rows = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    const shares = counts.map((count) => (count === null || rows <= 0 ? null : count / rows));
    return { rows, columns, shares, isKnown: counts.every((count) => count !== null) };
  });
  return all.every(({ isKnown }) => isKnown) ? all.map(({ isKnown: _, ...row }) => row) : null;
}

function percent(share: Value): string {
  return share === null ? "–" : `${fixed(100 * share, 0)}%`;
}

/** The decisions in one group. */
function ofGroup(store: Store, classes: Classes, attribute: Attribute, group: string): HTMLElement | null {
  const { front, split, chosen, other, data } = store;
  const of = `${attribute.name}=${group}`;
  const own = classRows(front, chosen, split, of, classes);
  if (own === null) return null;
  const isCompared = chosen !== other && classes.names.length <= MOST_COMPARED;
  const before = isCompared ? classRows(front, other, split, of, classes) : null;
  const body = h("tbody");
  own.forEach(({ rows, columns, shares }, actual) => {
    const row = h(
      "tr",
      {},
      h("th", { scope: "row" }, name(classes.names[actual] ?? "", 24), h("span", { class: "soft" }, ` ${cell(rows, true)}`)),
    );
    shares.forEach((share, decided) => {
      const second = before?.[actual]?.shares[decided] ?? null;
      const item = h(
        "td",
        { class: actual === decided ? "number right" : "number" },
        h("span", { "data-decisions": columns[decided] ?? "" }, percent(share)),
        before === null ? null : h("span", { class: "second" }, ` (${percent(second)})`),
      );
      item.style.backgroundColor = `color-mix(in srgb, var(--point) ${(50 * (share ?? 0)).toFixed(1)}%, transparent)`;
      row.append(item);
    });
    body.append(row);
  });
  const heads = classes.names.map((decided) => h("th", { scope: "col" }, name(decided, 24)));
  const caption = h("caption", {}, h("strong", {}, name(groupName(attribute.name, group), 60)), daggerOf(data.run, attribute.name, group));
  const first = h("th", { scope: "col", class: "corner" }, "labeled ↓ decided →");
  const table = h("table", { class: "confusion" }, caption, h("thead", {}, h("tr", {}, first, ...heads)), body);
  return scrolling(table, `Decisions by class, ${shorten(group, 60)}`);
}

/** The decisions in the groups of an attribute, one table per group. */
export function confusions(store: Store, attribute: Attribute): HTMLElement[] {
  const classes = targetClasses();
  if (classes === null) return [];
  const tables = attribute.groups.map((group) => ofGroup(store, classes, attribute, group)).filter((table) => table !== null);
  const { split, chosen, other } = store;
  if (tables.length === 0) {
    const text = `The target has ${grouped(classes.names.length)} classes; only runs with up to 10 classes count the decisions by class.`;
    return [h("p", { class: "note" }, text)];
  }
  const isCompared = chosen !== other && classes.names.length <= MOST_COMPARED;
  const said = [
    `Each row of a table shows the rows of one class, with their number, and the share of each decision, on ${rowsName(split)} rows.`,
    "Bold: the decision is the class.",
    ...(isCompared ? [`In parentheses: ${modelName(other)}.`] : []),
  ];
  const all = h("div", { class: "confusions" }, ...tables);
  all.style.setProperty("--least", `${9 + (isCompared ? 6 : 5) * classes.names.length}rem`);
  return [
    h("h5", {}, "Decisions by class"),
    all,
    h("p", { class: "note" }, said.join(" ")),
  ];
}

/** The measures of each class over all rows, on the current split. */
export function byClass(store: Store): HTMLElement | null {
  const classes = targetClasses();
  if (classes === null) return null;
  const { front, split, chosen, other } = store;
  const kinds: [string, string][] = [
    ["selection_rate", classes.ordered ? "share of decisions at least as high" : "share of decisions"],
    ["recall", "recall"],
    ["precision", "precision"],
    ["f1", "F1"],
  ];
  const body = h("tbody");
  for (const of of classes.names) {
    const row = h("tr", {}, h("th", { scope: "row" }, name(of, 40)));
    for (const [kind, title] of kinds) {
      const measure = `${kind}[${of}]`;
      const column = columnOf(front, measure, split)?.name ?? "";
      const interval = front.interval(column, chosen);
      row.append(
        h(
          "td",
          { class: "number", "data-label": title },
          h("span", { "data-column": column }, valueText(measure, front.at(column, chosen))),
          chosen === other ? null : h("span", { class: "soft" }, ` (${valueText(measure, front.at(column, other))})`),
          interval && h("span", { class: "interval" }, intervalText(measure, interval)),
        ),
      );
    }
    body.append(row);
  }
  const head = h("tr", {}, h("th", { scope: "col" }, "class"));
  for (const [kind, title] of kinds) {
    const meaning = meaningOf(kind)?.description ?? explain(kind);
    head.append(h("th", { scope: "col", title: capital(meaning ?? "") }, title));
  }
  const compared = chosen === other ? "" : `; in parentheses: ${shortName(other)}`;
  const caption = h("caption", { class: "hidden" }, "Measures of each class");
  const table = h("table", { class: "plain stacked" }, caption, h("thead", {}, head), body);
  const note = h("p", { class: "note" }, `On ${rowsName(split)} rows${compared}.`);
  return h("div", {}, scrolling(table, "Measures of each class"), note);
}
