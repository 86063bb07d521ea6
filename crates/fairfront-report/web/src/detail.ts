// Details of the selected model compared with another: groups, measures on all splits, coefficients, model card.

import { amongOf, comparedNote, daggerOf } from "./compared.ts";
import type { Attribute } from "./data.ts";
import { h, name, scrolling, section, shorten } from "./dom.ts";
import { requirementText } from "./grammar.ts";
import {
  capital,
  explain,
  intervalText,
  isOfClass,
  isOfGroup,
  modelName,
  rowsName,
  shortName,
  valueText,
  words,
} from "./label.ts";
import { averageStatements } from "./average.ts";
import { Distribution, distributionIntro, hasDistributions } from "./distribution.ts";
import { decides, meaningOf, performanceName, selects, targetClasses } from "./meaning.ts";
import { classesNote, type Rate, rateInterval, rates, rateText, Track, tracksOf, valuesOf } from "./rate.ts";
import { modelCard } from "./card.ts";
import { Coefficients } from "./coefficient.ts";
import { byClass, confusions } from "./confusion.ts";
import { cell, grouped } from "./number.ts";
import { classStatements, groupStatements } from "./people.ts";
import { binsOf, Reliability } from "./reliability.ts";
import type { Store } from "./store.ts";

/** Whether there is no second model: the selected model would be compared with itself. */
function isAlone({ chosen, other }: Store): boolean {
  return chosen === other;
}

/** The value of the other model, which follows that of the selected model. */
function inParentheses(store: Store, text: string): HTMLElement | null {
  return isAlone(store) ? null : h("span", { class: "soft" }, ` (${text})`);
}

/** The bars or dots of one rate for all groups of an attribute, as a small table. */
function bars(store: Store, attribute: Attribute, rate: Rate, track: Track): HTMLElement {
  const hidesOther = rate.isFact || isAlone(store);
  const values = valuesOf(store, rate, attribute);
  const zero = track.look === "signed" || track.look === "amount" || track.look === "share" ? 0 : null;
  const body = h("tbody");
  attribute.groups.forEach((group, i) => {
    const { own, before, interval } = values[i] ?? { own: null, before: null, interval: null };
    const fill = h("span", { class: zero === null ? "dot" : own !== null && own < 0 ? "fill less" : "fill" });
    fill.hidden = own === null;
    if (own !== null && zero === null) fill.style.left = track.place(own);
    else if (own !== null) Object.assign(fill.style, track.span(zero ?? 0, own));
    const tick = h("span", { class: "tick start" });
    tick.hidden = before === null || rate.isFact;
    if (before !== null) tick.style.left = track.place(before);
    const whisker = h("span", { class: "whisker" });
    whisker.hidden = interval === null;
    if (interval !== null) Object.assign(whisker.style, track.span(...interval));
    const number = h("td", { class: "number" }, rateText(rate, own));
    if (interval !== null) number.title = rateInterval(rate, interval);
    const both = track.look === "signed" ? "track both" : "track";
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name(group, 22), daggerOf(store.data.run, attribute.name, group, rate.among)),
        h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: both }, fill, whisker, tick)),
        number,
        hidesOther ? null : h("td", { class: "number soft" }, rateText(rate, before)),
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
      hidesOther ? null : h("th", { scope: "col" }, shortName(store.other)),
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
    // Measures of single classes have their own table.
    if (!selects()) return !isOfGroup(measure, store.data.attributes) && !isOfClass(measure);
    const isOverall = measure === performanceName() || measure === "log_loss";
    return isOverall || (meaningOf(measure)?.compares ?? []).length > 0;
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

/** Rates of groups as counts of people, or mean predictions of groups. */
function people(store: Store): HTMLElement {
  const { data, front, chosen, other } = store;
  const { target, positive } = data.run.spec;
  const predicted = shorten(target ?? "the target", 40);
  // A comparison such as ">= 5000" has its own sign.
  const sign = /^[<>]=? ?/.test(positive ?? "") ? "" : "= ";
  const label = `${predicted} ${sign}${shorten(positive ?? "positive", 40)}`;
  const classes = targetClasses();
  const statements = (attribute: Attribute) =>
    classes !== null
      ? classStatements(front, chosen, attribute, classes, other)
      : decides()
      ? groupStatements(front, chosen, attribute, label, other)
      : averageStatements(front, chosen, attribute, predicted, other);
  const said = data.attributes.flatMap((attribute) =>
    statements(attribute).map(({ text, group, rate }) =>
      h("li", {}, `${capital(shorten(text, 300))}.`, daggerOf(data.run, attribute.name, group, amongOf(rate))),
    ),
  );
  const notes = [...new Set(data.attributes.map((attribute) => comparedNote(data.run, attribute.name)))];
  const marked = said.some((item) => item.querySelector(".dagger") !== null);
  const interval = front.interval(`${front.reporting}.${performanceName()}`, chosen) === null ? "" : " In parentheses: 95% interval.";
  return h(
    "div",
    {},
    h("ul", { class: "people" }, ...said.slice(0, MOST_SENTENCES)),
    h(
      "p",
      { class: "note" },
      `${decides() ? "Counted on" : "On"} ${rowsName(front.reporting)} rows.${interval}`,
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

/** The distributions of predicted numbers, if the run has them. */
function distributions(store: Store, all: Distribution[]): HTMLElement[] {
  if (all.length === 0) return [];
  const parts = all.map(({ element }, i) =>
    h("div", {}, h("h4", {}, "By ", name(store.data.attributes[i]?.name ?? "", 40)), element),
  );
  return [h("h3", {}, "Distributions by group"), h("p", { class: "intro" }, distributionIntro(store)), ...parts];
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
  const spreads = hasDistributions(store) ? data.attributes.map((attribute) => new Distribution(store, attribute)) : [];
  element.append(
    h("p", { class: "intro", id: "detail-intro" }),
    h("h3", {}, "Results by group"),
    counts,
    groups,
    ...distributions(store, spreads),
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
    const ofClasses = byClass(store);
    if (ofClasses !== null) tables.append(h("h3", {}, "Measures of each class"), ofClasses);
    for (const spread of spreads) spread.follow();
    weights.draw();
    card.replaceChildren(modelCard(store));
  };
  store.on(["choice", "view"], follow);
  follow();
  return element;
}

function ofAttribute(store: Store, attribute: Attribute): HTMLElement {
  const note = comparedNote(store.data.run, attribute.name);
  const all = rates();
  const tracks = tracksOf(store, all, attribute);
  const shown = classesNote();
  const unit = decides() ? "" : `, in ${shorten(store.data.run.spec.target ?? "the unit of the target", 40)}`;
  return h(
    "div",
    { class: "attribute" },
    h("h4", {}, "By ", name(attribute.name, 40), unit),
    h("div", { class: "multiples" }, ...all.map((rate, i) => bars(store, attribute, rate, tracks[i] as Track))),
    shown === null ? null : h("p", { class: "note" }, shown),
    ...confusions(store, attribute),
    ...(selects()
      ? [
          scrolling(confusion(store, attribute), "Decisions by group"),
          isAlone(store) ? null : h("p", { class: "note" }, `In parentheses: ${modelName(store.other)}.`),
        ]
      : []),
    note === null ? null : h("p", { class: "note compared-note" }, note),
  );
}
