// The chosen model group by group, coefficient by coefficient, and on all rows.

import type { Attribute } from "./data.ts";
import { h, name, scrolling, section } from "./dom.ts";
import type { Value } from "./front.ts";
import { capital, explain, words, rowsName } from "./label.ts";
import { modelCard } from "./card.ts";
import { cell, counted, grouped, readable } from "./number.ts";
import type { Store } from "./store.ts";

interface Rate {
  title: string;
  meaning: string;
  of: (attribute: string, group: string) => { own: Value; before: Value };
  isCount?: boolean;
}

/** The rates of a group, on the rows that are shown. */
function rates(store: Store): Rate[] {
  const { front, split, chosen } = store;
  const read = (kind: string, attribute: string, group: string) => {
    const column = `${split}.${kind}(${attribute}=${group})`;
    return { own: front.values(column)?.[chosen] ?? null, before: front.unmitigated.get(column) ?? null };
  };
  const of = (kind: string) => (attribute: string, group: string) => read(kind, attribute, group);
  const other = (v: Value) => (v === null ? null : 1 - v);
  return [
    { title: "Selection rate", meaning: explain("selection_rate") ?? "", of: of("selection_rate") },
    {
      title: "True positive rate",
      meaning: "of those who deserve a positive decision, the share that gets one",
      of: (attribute, group) => {
        const { own, before } = read("false_negative_rate", attribute, group);
        return { own: other(own), before: other(before) };
      },
    },
    { title: "False positive rate", meaning: explain("false_positive_rate") ?? "", of: of("false_positive_rate") },
    { title: "False negative rate", meaning: explain("false_negative_rate") ?? "", of: of("false_negative_rate") },
    { title: "Accuracy", meaning: "the share of the group that is decided rightly", of: of("accuracy") },
    { title: "Rows", meaning: "how many rows (or how much weight) the group has", of: of("count"), isCount: true },
  ];
}

/** Bars of all groups of an attribute, one small table a rate. */
function bars(attribute: Attribute, rate: Rate): HTMLElement {
  const values = attribute.groups.map((group) => rate.of(attribute.name, group));
  const all = values.flatMap(({ own, before }) => [own ?? 0, before ?? 0]);
  const most = rate.isCount ? Math.max(...all, 1) : 1;
  const share = (v: number) => `${(100 * Math.min(Math.max(v / most, 0), 1)).toFixed(2)}%`;
  const body = h("tbody");
  attribute.groups.forEach((group, i) => {
    const { own, before } = values[i] ?? { own: null, before: null };
    const fill = h("span", { class: "fill" });
    fill.style.width = own === null ? "0" : share(own);
    const tick = h("span", { class: "tick start" });
    tick.hidden = before === null || (rate.isCount ?? false);
    if (before !== null) tick.style.left = share(before);
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name(group, 22)),
        h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track" }, fill, tick)),
        h("td", { class: "number" }, cell(own, rate.isCount)),
        rate.isCount ? null : h("td", { class: "number soft" }, cell(before, rate.isCount)),
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
      h("th", { scope: "col" }, "this model"),
      rate.isCount ? null : h("th", { scope: "col" }, "unmitigated"),
    ),
  );
  const caption = h("caption", { title: capital(rate.meaning) }, rate.title);
  return h("table", { class: "bars" }, caption, head, body);
}

/** Right and wrong decisions by group. */
function confusion(store: Store, attribute: Attribute): HTMLElement {
  const { front, split, chosen } = store;
  const kinds: [string, string][] = [
    ["true_positives", "rightly positive"],
    ["false_positives", "wrongly positive"],
    ["true_negatives", "rightly negative"],
    ["false_negatives", "wrongly negative"],
  ];
  const body = h("tbody");
  for (const group of attribute.groups) {
    const row = h("tr", {}, h("th", { scope: "row" }, name(group, 28)));
    for (const [kind] of kinds) {
      const column = `${split}.${kind}(${attribute.name}=${group})`;
      const own = front.values(column)?.[chosen] ?? null;
      const before = front.unmitigated.get(column) ?? null;
      row.append(
        h("td", { class: "number" }, cell(own, true), h("span", { class: "soft" }, ` (${cell(before, true)})`)),
      );
    }
    body.append(row);
  }
  const head = h("tr", {}, h("th", { scope: "col" }, name(attribute.name, 28)));
  for (const [kind, title] of kinds) head.append(h("th", { scope: "col", title: kind.replaceAll("_", " ") }, title));
  return h("table", { class: "plain" }, h("caption", { class: "hidden" }, "Confusion counts"), h("thead", {}, head), body);
}

/** Overall measures on all rows side by side, the unmitigated model in parentheses. */
function allRows(store: Store): HTMLElement {
  const { front, chosen } = store;
  const measures = front.measuresOn(front.split).filter((measure) => {
    const kind = measure.split("(", 1)[0] ?? "";
    return /_(difference|ratio)$/.test(kind) || kind === "mutual_information" || measure === "accuracy" || kind === "log_loss";
  });
  const body = h("tbody");
  for (const measure of measures) {
    const label = h("th", { scope: "row" }, capital(words(measure, 28)));
    const meaning = explain(measure);
    if (meaning !== null) label.title = capital(meaning);
    const row = h("tr", {}, label);
    for (const split of front.splits) {
      const column = `${split}.${measure}`;
      const before = front.unmitigated.get(column) ?? null;
      row.append(
        h(
          "td",
          { class: "number" },
          h("span", { "data-column": column }, cell(front.values(column)?.[chosen] ?? null)),
          h("span", { class: "soft" }, ` (${cell(before)})`),
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
  return h("table", { class: "plain" }, h("caption", { class: "hidden" }, "All measures"), h("thead", {}, head), body);
}

const FEW = 14;

/** What moves the score, the largest first. */
function coefficients(store: Store, showAll: boolean): HTMLElement {
  const { data, chosen } = store;
  const own = data.params[chosen] ?? [];
  const names = [...data.features, "(intercept)"];
  const order = names.map((_, i) => i);
  order.sort((a, b) => Math.abs(own[b] ?? 0) - Math.abs(own[a] ?? 0) || a - b);
  const shown = showAll ? order : order.slice(0, FEW);
  const all = [...own, ...data.unmitigatedParams].map(Math.abs).filter(Number.isFinite);
  const most = Math.max(...all, 1e-300);
  const place = (v: number) => `${(50 + (50 * v) / most).toFixed(2)}%`;
  const body = h("tbody");
  for (const i of shown) {
    const [value, before] = [own[i] ?? 0, data.unmitigatedParams[i] ?? NaN];
    const fill = h("span", { class: value < 0 ? "fill less" : "fill" });
    fill.style.left = value < 0 ? place(value) : "50%";
    fill.style.width = `${((50 * Math.abs(value)) / most).toFixed(2)}%`;
    const tick = h("span", { class: "tick start" });
    tick.hidden = !Number.isFinite(before);
    tick.style.left = place(Number.isFinite(before) ? before : 0);
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name(names[i] ?? "", 36)),
        h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track both" }, fill, tick)),
        h("td", { class: "number" }, readable(value)),
        h("td", { class: "number soft" }, Number.isFinite(before) ? readable(before) : "–"),
      ),
    );
  }
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "feature"),
    h("td", {}),
    h("th", { scope: "col" }, "adds to the score"),
    h("th", { scope: "col" }, "unmitigated"),
  );
  return h("table", { class: "bars coefficients" }, h("caption", { class: "hidden" }, "Coefficients by size"), h("thead", {}, head), body);
}

/** What a unit of a number is. */
function unit(scale: string): string {
  if (scale === "standard") return "For a numeric column it is what one standard deviation more adds.";
  if (scale === "min-max") return "For a numeric column it is what the step from its smallest to its largest value adds.";
  return "For a numeric column it is what one more adds.";
}

export function detail(store: Store): HTMLElement {
  const { data } = store;
  const element = section("detail", "", null);
  const heading = element.querySelector("h2") as HTMLElement;
  heading.tabIndex = -1;
  const groups = h("div", { class: "groups" });
  const tables = h("div");
  const weights = h("div");
  const card = h("div");
  let showAll = false;
  const more = h("button", { type: "button", class: "link" });
  more.addEventListener("click", () => {
    showAll = !showAll;
    draw();
  });
  element.append(
    h("p", { class: "intro", id: "detail-intro" }),
    h("h3", {}, "How it treats each group"),
    groups,
    h("h3", {}, "On all rows"),
    tables,
    h("h3", {}, "What it looks at"),
    h(
      "p",
      { class: "intro" },
      "A score is the sum of these; the decision is positive where it is at least 0. Orange: the unmitigated model. ",
      unit(data.run.spec.scale),
    ),
    weights,
    more,
    h("h3", {}, "Model card"),
    card,
  );
  let shown = "";
  const follow = () => {
    // Requirements may change without another model being chosen.
    const wanted = `${store.chosen} ${store.split}`;
    if (wanted !== shown) draw();
    shown = wanted;
  };
  const draw = () => {
    heading.textContent = `Model ${store.chosen} in detail`;
    const intro = element.querySelector("#detail-intro") as HTMLElement;
    intro.textContent = `Bars are this model on ${rowsName(store.split)} rows; the orange line is the unmitigated model. Numbers are those of both, in this order. Groups are alike where bars are equally long.`;
    groups.replaceChildren(...data.attributes.map((attribute) => ofAttribute(store, attribute)));
    tables.replaceChildren(scrolling(allRows(store), "All measures on all rows"));
    weights.replaceChildren(scrolling(coefficients(store, showAll), "Coefficients"));
    const n = data.features.length + 1;
    more.hidden = n <= FEW;
    more.textContent = showAll ? `show only the ${FEW} largest` : `show all ${counted(n, "coefficient")}`;
    card.replaceChildren(modelCard(store));
  };
  store.on(["choice", "view"], follow);
  follow();
  return element;
}

function ofAttribute(store: Store, attribute: Attribute): HTMLElement {
  return h(
    "div",
    { class: "attribute" },
    h("h4", {}, "By ", name(attribute.name, 40)),
    h("div", { class: "multiples" }, ...rates(store).map((rate) => bars(attribute, rate))),
    scrolling(confusion(store, attribute), "Decisions by group"),
    h("p", { class: "note" }, "In parentheses: the unmitigated model."),
  );
}
