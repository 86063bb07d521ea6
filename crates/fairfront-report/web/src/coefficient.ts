// The coefficients of the selected model: of columns, or of the probabilities that it combines.

import type { PageData } from "./data.ts";
import { freshId, h, name, scrolling, shorten } from "./dom.ts";
import { shortName } from "./label.ts";
import { centered, combinesLearners, isIntercept, isOfOutcome, ownParams, paramName, paramsOf } from "./learned.ts";
import { decides, targetClasses, targetDigits, targetUnit } from "./meaning.ts";
import { counted, inTarget, readable } from "./number.ts";
import type { Store } from "./store.ts";

const FEW = 14;

/** The unit of the coefficients of numeric columns. */
function unit(scale: string): string {
  if (scale === "standard") return "The unit of a numeric column is its standard deviation.";
  if (scale === "min-max") return "The unit of a numeric column is its range, from its smallest to its largest value.";
  return "Numeric columns keep their own units.";
}

/** A coefficient as text; those of predicted numbers are in the unit of the target. */
function paramText(value: number): string {
  return decides() ? readable(value) : inTarget(value, targetDigits() + 1);
}

/** The parameters as they are shown: those of predicted numbers in the unit of the target. */
function shownParams(data: PageData, model: number): number[] {
  const params = paramsOf(data, model);
  const unit = targetUnit();
  if (unit === null) return centered(data, params);
  return params.map((param, i) => unit.scale * param + (i === data.features.length ? unit.center : 0));
}

/** How the score of the selected model is computed. */
function explanation(store: Store, isCompared: boolean): string {
  const { data, chosen } = store;
  const compared = isCompared ? " Orange lines show the model compared with." : "";
  const target = shorten(data.run.spec.target ?? "the target", 40);
  const score = decides() ? "score" : "prediction";
  const decided =
    targetClasses() !== null
      ? "Each class has its own score; the decision is the class with the highest score. Coefficients and intercepts are " +
        "differences from their mean over the classes, which change no decision."
      : decides()
        ? "A person is selected if the score is at least 0."
        : `Coefficients are in ${target}.`;
  if (!combinesLearners(data, paramsOf(data, chosen))) {
    const sum = `The ${score} is the intercept plus each coefficient times its feature.`;
    return `${sum} ${decided}${compared} ${unit(data.run.spec.scale)}`;
  }
  const sum = `The ${score} is the intercept plus each weight times a quantity from the learners.`;
  const group =
    "The quantities about groups compare the probability of a group with that of the largest group, each divided by the " +
    "share of the group.";
  const isOfGroup = (param: number) => !isIntercept(data, param) && !isOfOutcome(data, param);
  const more = ownParams(data, chosen).some(isOfGroup) ? ` ${group}` : "";
  return `${sum} ${decided}${more} The unit of each quantity is its standard deviation.${compared}`;
}

/** The coefficients as bars, the largest first. */
export class Coefficients {
  readonly element: HTMLElement;
  private readonly intro = h("p", { class: "intro" });
  private readonly table = h("div");
  private readonly more = h("button", { type: "button", class: "link" });
  private showsAll = false;
  /** The class of the score that is shown. */
  private score = 0;

  constructor(private readonly store: Store) {
    this.more.addEventListener("click", () => {
      this.showsAll = !this.showsAll;
      this.draw();
    });
    this.element = h("div", { class: "weights" }, this.intro, this.classSelect(), this.table, this.more);
  }

  /** A list of the classes, each with its own score; `null` if there is one score. */
  private classSelect(): HTMLElement | null {
    const classes = targetClasses();
    if (classes === null) return null;
    const id = freshId("score");
    const select = h("select", { id }, ...classes.names.map((of, i) => h("option", { value: i }, shorten(of, 60))));
    select.addEventListener("change", () => {
      this.score = Number(select.value);
      this.draw();
    });
    return h("div", { class: "field" }, h("label", { for: id }, "Score of the class"), select);
  }

  draw(): void {
    const { data, chosen, other } = this.store;
    const kind = (model: number) => combinesLearners(data, paramsOf(data, model));
    // Models of different kinds have no coefficient in common.
    const isCompared = chosen !== other && kind(chosen) === kind(other);
    const all = ownParams(data, chosen, this.score);
    this.intro.textContent = explanation(this.store, isCompared);
    this.table.replaceChildren(scrolling(this.bars(all, isCompared), "Coefficients"));
    this.more.hidden = all.length <= FEW;
    this.more.textContent = this.showsAll ? `show only the ${FEW} largest` : `show all ${counted(all.length, "coefficient")}`;
  }

  private bars(all: number[], isCompared: boolean): HTMLElement {
    const { data, chosen, other } = this.store;
    const [own, others] = [shownParams(data, chosen), isCompared ? shownParams(data, other) : []];
    // The intercept of a predicted number is a level of the target, which would hide the sizes of the others.
    const hasBar = (i: number) => decides() || !isIntercept(data, i);
    const size = (i: number) => (hasBar(i) ? Math.abs(own[i] ?? 0) : Infinity);
    const order = all.slice().sort((a, b) => (size(a) === size(b) ? a - b : size(b) - size(a)));
    const shown = new Set(all);
    const sizes = [own, others].flatMap((params) => params.filter((_, i) => shown.has(i) && hasBar(i)).map(Math.abs)).filter(Number.isFinite);
    const most = Math.max(...sizes, 1e-300);
    const place = (v: number) => `${(50 + (50 * v) / most).toFixed(2)}%`;
    const learns = combinesLearners(data, paramsOf(data, chosen));
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
          h("td", { class: "bar", "aria-hidden": "true" }, hasBar(i) ? h("span", { class: "track both" }, fill, tick) : null),
          h("td", { class: "number" }, paramText(value)),
          isCompared ? h("td", { class: "number soft" }, Number.isFinite(before) ? paramText(before) : "–") : null,
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
