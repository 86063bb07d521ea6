// All models as a table.

import { h, scrolling, section } from "./dom.ts";
import { frontText, save } from "./download.ts";
import { familyName } from "./family.ts";
import {
  capital,
  columnOf,
  endText,
  isRate,
  type Measure,
  pricedMeasures,
  rowsName,
  shownMeasures,
  valueText,
  words,
} from "./label.ts";
import { performanceName } from "./meaning.ts";
import { idOf } from "./modelId.ts";
import { fixed, grouped } from "./number.ts";
import type { Store } from "./store.ts";

const PAGE = 12;

/** The wider side of a model's interval, in the unit of the value. */
function halfWidth(store: Store, measure: Measure, column: string, model: number): string | null {
  const [interval, value] = [store.front.interval(column, model), store.front.at(column, model)];
  if (interval === null || value === null) return null;
  const half = Math.max(value - interval[0], interval[1] - value);
  return isRate(measure) ? fixed(100 * half, 1) : endText(measure, half);
}

export function models(store: Store): HTMLElement {
  const { front, data } = store;
  const measures = [...new Set([...pricedMeasures(front), ...shownMeasures(front)])];
  const element = section("models", "All models", null);
  const get = h("button", { type: "button", id: "download-front" }, "Download the front (CSV)");
  get.addEventListener("click", () => save("front.csv", "text/csv", frontText(data)));
  const body = h("tbody");
  const caption = h("caption");
  const heads: { measure: Measure | null; cell: HTMLElement; button: HTMLButtonElement }[] = [];
  let by: Measure | null = null;
  let descending = false;
  let page = 0;
  const headRow = h("tr");
  for (const measure of [null, ...measures]) {
    const button = h("button", { type: "button", class: "sort" }, measure === null ? "model" : words(measure, 18));
    button.addEventListener("click", () => {
      descending = by === measure ? !descending : false;
      by = measure;
      page = 0;
      draw();
    });
    const head = h("th", { scope: "col" }, button);
    headRow.append(head);
    heads.push({ measure, cell: head, button });
    if (measure === null && data.families.areShown) headRow.append(h("th", { scope: "col", class: "family" }, "family"));
  }
  // The column is hidden without requirements.
  const meets = h("th", { scope: "col", class: "meets" }, "meets your requirements");
  headRow.append(meets);
  const previous = h("button", { type: "button" }, "Previous");
  const next = h("button", { type: "button" }, "Next");
  const place = h("span", { class: "note", "aria-live": "polite" });
  const turn = (by: number) => () => {
    page += by;
    draw();
  };
  previous.addEventListener("click", turn(-1));
  next.addEventListener("click", turn(1));
  const table = h("table", { class: "plain models" }, caption, h("thead", {}, headRow), body);
  element.append(
    scrolling(table, "All models"),
    h("p", { class: "actions" }, previous, next, place, get),
  );

  const sorted = (): number[] => {
    const values = by === null ? null : columnOf(front, by, store.split)?.values;
    const at = (i: number) => (values ? (values[i] ?? Infinity) : i);
    const order = front.order.slice().sort((a, b) => at(a) - at(b) || a - b);
    return descending ? order.reverse() : order;
  };
  const rowOf = (model: number): HTMLElement => {
    const id = idOf(model);
    const pick = h("button", { type: "button", class: "link" }, String(id));
    pick.setAttribute("aria-label", `select model ${id}`);
    const row = h("tr", { "data-model-id": id }, h("th", { scope: "row" }, pick));
    if (data.families.areShown) row.append(h("td", { class: "family" }, familyName(data.families.of(model))));
    for (const measure of measures) {
      const column = columnOf(front, measure, store.split);
      const own = valueText(measure, column?.values[model] ?? null);
      const half = halfWidth(store, measure, column?.name ?? "", model);
      row.append(
        h(
          "td",
          { class: "number" },
          h("span", { "data-column": column?.name ?? "" }, own),
          half === null ? null : h("span", { class: "soft" }, ` ±${half}`),
        ),
      );
    }
    if (store.requirements.length > 0) row.append(h("td", { class: "meets" }, store.meets[model] ? "yes" : "no"));
    if (model === store.chosen) row.setAttribute("aria-current", "true");
    row.addEventListener("click", () => {
      store.pick(model);
      // The rows were drawn again, so the focus has to be restored.
      const again = body.querySelector<HTMLElement>(`[data-model-id="${id}"] button`);
      if (document.activeElement === document.body) again?.focus({ preventScroll: true });
    });
    row.addEventListener("pointerenter", () => store.hover(model));
    row.addEventListener("pointerleave", () => store.hover(null));
    return row;
  };
  const draw = () => {
    const order = sorted();
    const last = Math.max(Math.ceil(order.length / PAGE) - 1, 0);
    page = Math.min(Math.max(page, 0), last);
    const shown = order.slice(page * PAGE, (page + 1) * PAGE);
    const intervals = front.interval(`${store.split}.${performanceName()}`, 0) ? " ±: the wider side of the 95% interval." : "";
    caption.textContent = `On ${rowsName(store.split)} rows. Select a model by its number, or sort by a column heading.${intervals}`;
    meets.hidden = store.requirements.length === 0;
    body.replaceChildren(...shown.map(rowOf));
    for (const head of heads) {
      const sort = head.measure === by ? (descending ? "descending" : "ascending") : "none";
      head.cell.setAttribute("aria-sort", sort);
    }
    previous.disabled = page === 0;
    next.disabled = page === last;
    const from = page * PAGE + 1;
    place.textContent = `${grouped(from)} to ${grouped(from + shown.length - 1)} of ${grouped(order.length)}`;
  };
  // Show the page of the table that contains the selected model.
  const follow = () => {
    page = Math.floor(Math.max(sorted().indexOf(store.chosen), 0) / PAGE);
    draw();
  };
  store.on(["choice"], follow);
  store.on(["view"], draw);
  store.on(["hover"], () => {
    const hovered = store.hovered === null ? null : String(idOf(store.hovered));
    for (const row of body.children) {
      row.classList.toggle("hovered", (row as HTMLElement).dataset.modelId === hovered);
    }
  });
  follow();
  for (const { measure, button } of heads) if (measure) button.title = capital(words(measure, 60));
  return element;
}
