// Details of the selected model compared with another: groups, measures on all splits, coefficients, model card.

import { amongOf, comparedNote, daggerOf } from "./compared.ts";
import type { Attribute } from "./data.ts";
import { h, name, scrolling, section, shorten } from "./dom.ts";
import { requirementText } from "./grammar.ts";
import type { Value } from "./front.ts";
import {
  capital,
  explain,
  intervalText,
  modelName,
  rowsName,
  shortName,
  valueText,
  words,
} from "./label.ts";
import { type Among, meaningOf } from "./meaning.ts";
import { modelCard } from "./card.ts";
import { Coefficients } from "./coefficient.ts";
import { cell, grouped } from "./number.ts";
import { groupStatements } from "./people.ts";
import { binsOf, Reliability } from "./reliability.ts";
import type { Store } from "./store.ts";

/** A value of the selected model, with its interval, and of the model it is compared with. */
interface Both {
  own: Value;
  before: Value;
  interval: [number, number] | null;
}

/** Whether there is no second model: the selected model would be compared with itself. */
function isAlone({ chosen, other }: Store): boolean {
  return chosen === other;
}

/** The value of the other model, which follows that of the selected model. */
function inParentheses(store: Store, text: string): HTMLElement | null {
  return isAlone(store) ? null : h("span", { class: "soft" }, ` (${text})`);
}

interface Rate {
  title: string;
  /** The rows that it covers. */
  among: Among;
  meaning: string;
  of: (attribute: string, group: string) => Both;
  isCount?: boolean;
}

/** The rates of a group on the current split. */
function rates(store: Store): Rate[] {
  const { front, split, chosen, other } = store;
  const read = (kind: string, attribute: string, group: string): Both => {
    const column = `${split}.${kind}(${attribute}=${group})`;
    return {
      own: front.at(column, chosen),
      before: other === chosen ? null : front.at(column, other),
      interval: front.interval(column, chosen),
    };
  };
  const of = (kind: string) => (attribute: string, group: string) => read(kind, attribute, group);
  const rate = (title: string, kind: string, meaning: string): Rate => ({
    title,
    among: amongOf(kind),
    meaning,
    of: of(kind),
  });
  return [
    rate("Selection rate", "selection_rate", explain("selection_rate") ?? ""),
    rate("False positive rate", "false_positive_rate", explain("false_positive_rate") ?? ""),
    rate("False negative rate", "false_negative_rate", explain("false_negative_rate") ?? ""),
    rate("Accuracy", "accuracy", "the share of the group whose decision agrees with the label"),
    { ...rate("Rows", "count", "how many rows (or how much weight) the group has"), isCount: true },
  ];
}

/** The bars of one rate for all groups of an attribute, as a small table. */
function bars(store: Store, attribute: Attribute, rate: Rate): HTMLElement {
  const text = (v: Value) => (rate.isCount ? cell(v, true) : valueText("accuracy", v));
  const values = attribute.groups.map((group) => rate.of(attribute.name, group));
  const all = values.flatMap(({ own, before }) => [own ?? 0, before ?? 0]);
  const most = rate.isCount ? Math.max(...all, 1) : 1;
  const share = (v: number) => `${(100 * Math.min(Math.max(v / most, 0), 1)).toFixed(2)}%`;
  const body = h("tbody");
  attribute.groups.forEach((group, i) => {
    const { own, before, interval } = values[i] ?? { own: null, before: null, interval: null };
    const fill = h("span", { class: "fill" });
    fill.style.width = own === null ? "0" : share(own);
    const tick = h("span", { class: "tick start" });
    tick.hidden = before === null || (rate.isCount ?? false);
    if (before !== null) tick.style.left = share(before);
    const whisker = h("span", { class: "whisker" });
    whisker.hidden = interval === null;
    if (interval !== null) {
      whisker.style.left = share(interval[0]);
      whisker.style.width = `${(100 * (Math.min(interval[1], 1) - Math.max(interval[0], 0))).toFixed(2)}%`;
    }
    const number = h("td", { class: "number" }, text(own));
    if (interval !== null) number.title = `95% interval: ${intervalText("accuracy", interval)}`;
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name(group, 22), daggerOf(store.data.run, attribute.name, group, rate.among)),
        h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track" }, fill, whisker, tick)),
        number,
        rate.isCount || isAlone(store) ? null : h("td", { class: "number soft" }, text(before)),
      ),
    );
  });
  const head = h(
    "thead",
    { class: "hidden" },
    h(
      "tr",
      {},
      h("th", { scope: "col" }, "group"),
      h("td", {}),
      h("th", { scope: "col" }, shortName(store.chosen)),
      rate.isCount || isAlone(store) ? null : h("th", { scope: "col" }, shortName(store.other)),
    ),
  );
  const caption = h("caption", { title: capital(rate.meaning) }, rate.title);
  return h("table", { class: "bars" }, caption, head, body);
}

/** Counts of decisions and labels by group. */
function confusion(store: Store, attribute: Attribute): HTMLElement {
  const { front, split, chosen, other } = store;
  const kinds: [string, string][] = [
    ["true_positives", "selected, labeled positive"],
    ["false_positives", "selected, labeled negative"],
    ["true_negatives", "refused, labeled negative"],
    ["false_negatives", "refused, labeled positive"],
  ];
  const body = h("tbody");
  for (const group of attribute.groups) {
    const mark = daggerOf(store.data.run, attribute.name, group);
    const row = h("tr", {}, h("th", { scope: "row" }, name(group, 28), mark));
    for (const [kind, title] of kinds) {
      const column = `${split}.${kind}(${attribute.name}=${group})`;
      const [own, before] = [front.at(column, chosen), front.at(column, other)];
      row.append(
        h("td", { class: "number", "data-label": title }, cell(own, true), inParentheses(store, cell(before, true))),
      );
    }
    body.append(row);
  }
  const head = h("tr", {}, h("th", { scope: "col" }, name(attribute.name, 28)));
  for (const [kind, title] of kinds) head.append(h("th", { scope: "col", title: kind.replaceAll("_", " ") }, title));
  return h("table", { class: "plain stacked pairs" }, h("caption", { class: "hidden" }, "Confusion counts"), h("thead", {}, head), body);
}

/** Overall measures on all splits side by side, the other model in parentheses. */
function allRows(store: Store): HTMLElement {
  const { front, chosen, other } = store;
  const measures = front.measuresOn(front.split).filter((measure) => {
    const known = meaningOf(measure);
    const isOverall = measure === "accuracy" || measure === "log_loss";
    return isOverall || (known?.compares ?? []).length > 0;
  });
  const body = h("tbody");
  for (const measure of measures) {
    const label = h("th", { scope: "row" }, capital(words(measure, 28)));
    const meaning = explain(measure);
    if (meaning !== null) label.title = capital(meaning);
    const row = h("tr", {}, label);
    for (const split of front.splits) {
      const column = `${split}.${measure}`;
      const before = valueText(measure, front.at(column, other));
      const interval = front.interval(column, chosen);
      row.append(
        h(
          "td",
          { class: "number", "data-label": split },
          h("span", { "data-column": column }, valueText(measure, front.at(column, chosen))),
          inParentheses(store, before),
          interval && h("span", { class: "interval" }, intervalText(measure, interval)),
        ),
      );
    }
    body.append(row);
  }
  const head = h("tr", {}, h("td"));
  for (const split of front.splits) {
    const rows = grouped(store.data.run.rows[split] ?? 0);
    head.append(h("th", { scope: "col" }, split, h("span", { class: "soft" }, ` ${rows} rows`)));
  }
  return h("table", { class: "plain stacked" }, h("caption", { class: "hidden" }, "All measures"), h("thead", {}, head), body);
}

/** The maximum number of sentences about groups. */
const MOST_SENTENCES = 40;

/** Rates of groups as counts of people. */
function people(store: Store): HTMLElement {
  const { data, front, chosen, other } = store;
  const { target, positive } = data.run.spec;
  // A comparison such as ">= 5000" has its own sign.
  const sign = /^[<>]=? ?/.test(positive ?? "") ? "" : "= ";
  const label = `${shorten(target ?? "the target", 40)} ${sign}${shorten(positive ?? "positive", 40)}`;
  const said = data.attributes.flatMap((attribute) =>
    groupStatements(front, chosen, attribute, label, other).map(({ text, group, rate }) =>
      h("li", {}, `${capital(shorten(text, 300))}.`, daggerOf(data.run, attribute.name, group, amongOf(rate))),
    ),
  );
  const notes = [...new Set(data.attributes.map((attribute) => comparedNote(data.run, attribute.name)))];
  const marked = said.some((item) => item.querySelector(".dagger") !== null);
  const interval = front.interval(`${front.reporting}.accuracy`, chosen) === null ? "" : " In parentheses: 95% interval.";
  return h(
    "div",
    {},
    h("ul", { class: "people" }, ...said.slice(0, MOST_SENTENCES)),
    h(
      "p",
      { class: "note" },
      `Counted on ${rowsName(front.reporting)} rows.${interval}`,
      said.length > MOST_SENTENCES ? ` Shown: the first ${MOST_SENTENCES} of ${grouped(said.length)} sentences.` : null,
    ),
    ...(marked ? notes.map((note) => (note === null ? "" : h("p", { class: "note" }, note))) : []),
  );
}

/** The reliability curve, if the run has one. */
function reliability(store: Store): HTMLElement[] {
  if (binsOf(store.front, 0).length === 0) return [];
  return [
    h("h3", {}, "Are the probabilities reliable?"),
    h("p", { class: "intro" }, "The predicted probability against the observed share of positive labels. Larger dots stand for more rows. On the dashed line, both are equal."),
    h("figure", { class: "reliable" }, new Reliability(store).element),
  ];
}

export function detail(store: Store): HTMLElement {
  const { data } = store;
  const element = section("detail", "", null);
  const heading = element.querySelector("h2") as HTMLElement;
  heading.tabIndex = -1;
  const groups = h("div", { class: "groups" });
  const counts = h("div");
  const tables = h("div");
  const card = h("div");
  const weights = new Coefficients(store);
  element.append(
    h("p", { class: "intro", id: "detail-intro" }),
    h("h3", {}, "Results by group"),
    counts,
    groups,
    h("h3", {}, "Measures on all splits"),
    tables,
    ...reliability(store),
    h("h3", {}, "Coefficients"),
    weights.element,
    h("h3", {}, "Model card"),
    card,
  );
  let shown = "";
  const follow = () => {
    // Requirements can change while the selected model stays the same; the card shows their verdicts.
    const wanted = `${store.chosen} ${store.other} ${store.split} ${store.requirements.map(requirementText).join()}`;
    if (wanted !== shown) draw();
    shown = wanted;
  };
  const draw = () => {
    heading.textContent = `${capital(modelName(store.chosen))} in detail`;
    const intro = element.querySelector("#detail-intro") as HTMLElement;
    const whiskers = store.split === "test" && data.run.intervals ? " Thin lines are 95% intervals." : "";
    const compared = isAlone(store) ? "" : `; orange lines and gray numbers show ${modelName(store.other)}`;
    intro.textContent =
      `Bars and the numbers next to them show ${modelName(store.chosen)} on ${rowsName(store.split)} ` +
      `rows${compared}.${whiskers}`;
    counts.replaceChildren(people(store));
    groups.replaceChildren(...data.attributes.map((attribute) => ofAttribute(store, attribute)));
    tables.replaceChildren(scrolling(allRows(store), "All measures on all splits"));
    weights.draw();
    card.replaceChildren(modelCard(store));
  };
  store.on(["choice", "view"], follow);
  follow();
  return element;
}

function ofAttribute(store: Store, attribute: Attribute): HTMLElement {
  const note = comparedNote(store.data.run, attribute.name);
  return h(
    "div",
    { class: "attribute" },
    h("h4", {}, "By ", name(attribute.name, 40)),
    h("div", { class: "multiples" }, ...rates(store).map((rate) => bars(store, attribute, rate))),
    scrolling(confusion(store, attribute), "Decisions by group"),
    isAlone(store) ? null : h("p", { class: "note" }, `In parentheses: ${modelName(store.other)}.`),
    note === null ? null : h("p", { class: "note compared-note" }, note),
  );
}
