// The coefficients of the selected model: of columns, or of the probabilities that it combines.

import { h, name, scrolling } from "./dom.ts";
import { shortName } from "./label.ts";
import { combinesLearners, ownParams, paramName, paramsOf } from "./learned.ts";
import { counted, readable } from "./number.ts";
import type { Store } from "./store.ts";

const FEW = 14;

/** The unit of the coefficients of numeric columns. */
function unit(scale: string): string {
  if (scale === "standard") return "The unit of a numeric column is its standard deviation.";
  if (scale === "min-max") return "The unit of a numeric column is its range, from its smallest to its largest value.";
  return "Numeric columns keep their own units.";
}

/** How the score of the selected model is computed. */
function explanation(store: Store, isCompared: boolean): string {
  const { data, chosen } = store;
  const compared = isCompared ? " Orange lines show the model compared with." : "";
  const decided = "A person is selected if the score is at least 0.";
  if (!combinesLearners(data, paramsOf(data, chosen))) {
    const sum = "The score is the intercept plus each coefficient times its feature.";
    return `${sum} ${decided}${compared} ${unit(data.run.spec.scale)}`;
  }
  const sum = "The score is the intercept plus each weight times a quantity from the learners.";
  const group =
    "The quantities about groups compare the probability of a group with that of the largest group, each divided by the " +
    "share of the group.";
  const more = ownParams(data, chosen).length > 2 ? ` ${group}` : "";
  return `${sum} ${decided}${more} The unit of each quantity is its standard deviation.${compared}`;
}

/** The coefficients as bars, the largest first. */
export class Coefficients {
  readonly element: HTMLElement;
  private readonly intro = h("p", { class: "intro" });
  private readonly table = h("div");
  private readonly more = h("button", { type: "button", class: "link" });
  private showsAll = false;

  constructor(private readonly store: Store) {
    this.more.addEventListener("click", () => {
      this.showsAll = !this.showsAll;
      this.draw();
    });
    this.element = h("div", { class: "weights" }, this.intro, this.table, this.more);
  }

  draw(): void {
    const { data, chosen, other } = this.store;
    const kind = (model: number) => combinesLearners(data, paramsOf(data, model));
    // Models of different kinds have no coefficient in common.
    const isCompared = chosen !== other && kind(chosen) === kind(other);
    const all = ownParams(data, chosen);
    this.intro.textContent = explanation(this.store, isCompared);
    this.table.replaceChildren(scrolling(this.bars(all, isCompared), "Coefficients"));
    this.more.hidden = all.length <= FEW;
    this.more.textContent = this.showsAll ? `show only the ${FEW} largest` : `show all ${counted(all.length, "coefficient")}`;
  }

  private bars(all: number[], isCompared: boolean): HTMLElement {
    const { data, chosen, other } = this.store;
    const [own, others] = [paramsOf(data, chosen), isCompared ? paramsOf(data, other) : []];
    const order = all.slice().sort((a, b) => Math.abs(own[b] ?? 0) - Math.abs(own[a] ?? 0) || a - b);
    const sizes = [...own, ...others].map(Math.abs).filter(Number.isFinite);
    const most = Math.max(...sizes, 1e-300);
    const place = (v: number) => `${(50 + (50 * v) / most).toFixed(2)}%`;
    const learns = combinesLearners(data, own);
    const body = h("tbody");
    for (const i of this.showsAll ? order : order.slice(0, FEW)) {
      const [value, before] = [own[i] ?? 0, others[i] ?? NaN];
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
          h("th", { scope: "row" }, name(paramName(data, i), learns ? 80 : 36)),
          h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track both" }, fill, tick)),
          h("td", { class: "number" }, readable(value)),
          isCompared ? h("td", { class: "number soft" }, Number.isFinite(before) ? readable(before) : "–") : null,
        ),
      );
    }
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, learns ? "quantity" : "feature"),
      h("td", {}),
      h("th", { scope: "col" }, learns ? "weight" : "coefficient"),
      isCompared ? h("th", { scope: "col" }, shortName(other)) : null,
    );
    const caption = h("caption", { class: "hidden" }, "Coefficients by size");
    return h("table", { class: "bars coefficients" }, caption, h("thead", {}, head), body);
  }
}
