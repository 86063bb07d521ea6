// Sliders for requirements, and the rule that selects one of the remaining models.

import { freshId, h, shorten } from "./dom.ts";
import { extent } from "./front.ts";
import { canonical, limitOf, parseTerm, type Requirement, requirementText, type Term } from "./grammar.ts";
import { capital, columnOf, direction, explain, isConstant, isInTarget, type Measure, pricedMeasures, rowsName, termOf, words } from "./label.ts";
import { performanceName } from "./meaning.ts";
import { counted, grouped, plain } from "./number.ts";
import type { Rule } from "./select.ts";
import type { Store } from "./store.ts";

/** A round step; about 150 steps cover the range. */
function stepOf(range: number): number {
  const rough = range / 150;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((s) => s * power >= rough) ?? 10);
}

/** Removes rounding errors from a decimal number. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

/** Whether a slider can show a requirement: a bound on a measure on the rows that models are chosen on. */
function isPlain(requirement: Requirement): boolean {
  const { term, comparator } = requirement;
  return term.split === null && !term.objective && (comparator === "<=" || comparator === ">=");
}

/** The comparator that keeps the better values. */
function comparatorOf(measure: Measure): "<=" | ">=" {
  return direction(measure) === "large" ? ">=" : "<=";
}

export class Requirements {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "sliders" });
  private readonly chips = h("ul", { class: "chips", "aria-label": "Further requirements" });
  private readonly remaining = h("output", { class: "remaining" });
  private readonly sliders: Slider[] = [];

  constructor(private readonly store: Store) {
    const { front } = store;
    const heading = h("h3", { id: freshId("requirements") }, "Requirements");
    const clear = h("button", { type: "button", class: "link" }, "clear all");
    clear.addEventListener("click", () => store.setRequirements([]));
    this.element = h(
      "div",
      { class: "requirements", role: "group", "aria-labelledby": heading.id },
      h("div", { class: "row" }, heading, clear),
      this.list,
      this.chips,
      h("p", { class: "count" }, this.remaining),
      rules(store),
    );
    this.list.append(this.adder());
    for (const measure of pricedMeasures(front)) this.add(measure);
    const follow = () => {
      for (const requirement of store.requirements) {
        const measure = canonical(requirement.term);
        const shown = this.sliders.some((slider) => slider.shows(requirement));
        const could = isPlain(requirement) && requirement.comparator === comparatorOf(measure);
        if (!shown && could && columnOf(front, measure, front.split)) this.add(measure);
      }
      for (const slider of this.sliders) slider.follow();
      this.followChips();
      clear.hidden = store.requirements.length === 0;
      this.remaining.textContent =
        store.requirements.length === 0
          ? `No requirement: all ${counted(front.length, "model")} remain.`
          : `${grouped(store.meeting)} of ${counted(front.length, "model")} ${store.meeting === 1 ? "meets" : "meet"} ${
              store.requirements.length === 1 ? "it" : "all of them"
            }, on ${rowsName(front.split)} rows.`;
    };
    store.on(["choice"], follow);
    follow();
  }

  private add(measure: Measure): void {
    const slider = new Slider(this.store, measure);
    this.sliders.push(slider);
    // The list for adding requirements stays last.
    this.list.insertBefore(slider.element, this.list.lastChild);
  }

  /** Shows the requirements without a slider, each with a button to remove it. */
  private followChips(): void {
    const others = this.store.requirements.filter(
      (r) => !this.sliders.some((slider) => slider.shows(r)),
    );
    this.chips.hidden = others.length === 0;
    this.chips.replaceChildren(
      ...others.map((requirement) => {
        const text = requirementText(requirement);
        const remove = h("button", { type: "button", class: "link" }, "remove");
        remove.setAttribute("aria-label", `remove ${shorten(text, 80)}`);
        remove.addEventListener("click", () => {
          this.store.setRequirements(this.store.requirements.filter((r) => r !== requirement));
        });
        return h("li", {}, h("code", {}, shorten(text, 80)), " ", remove);
      }),
    );
  }

  /** A list for adding a requirement on another measure. */
  private adder(): HTMLElement {
    const { front } = this.store;
    const select = h("select", { "aria-label": "Add a requirement on another measure" });
    select.append(h("option", { value: "" }, "Another requirement…"));
    for (const measure of front.measuresOn(front.split)) {
      if (direction(measure) === null || isConstant(measure)) continue;
      select.append(h("option", { value: measure }, capital(words(measure, 32))));
    }
    select.addEventListener("change", () => {
      const measure = select.value;
      select.value = "";
      if (measure === "") return;
      let slider = this.sliders.find((one) => one.measure === measure);
      if (!slider) {
        this.add(measure);
        slider = this.sliders[this.sliders.length - 1];
      }
      slider?.focus();
    });
    return h("div", { class: "adder" }, select);
  }
}

/** One bound: a slider, and a field for an exact number. */
class Slider {
  readonly element: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly field: HTMLInputElement;
  private readonly comparator: "<=" | ">=";
  private readonly term: Term;
  /** The position of the slider that means no requirement. */
  private readonly open: number;

  constructor(
    private readonly store: Store,
    readonly measure: Measure,
  ) {
    const { front } = store;
    const column = columnOf(front, measure, front.split);
    const before = front.unmitigated.get(column?.name ?? "") ?? null;
    const [low, high] = extent([...(column?.values ?? []), before]);
    const known = high >= low;
    const step = high > low ? stepOf(high - low) : 0.001;
    const min = known ? tidy(Math.floor(low / step) * step) : 0;
    const max = known ? tidy(Math.ceil(high / step) * step) : 1;
    this.comparator = comparatorOf(measure);
    // With the prefix `objective.`, a name would refer to training rows.
    this.term = termOf(measure.replace(/^objective\./, ""), store.data.attributes);
    this.open = this.comparator === ">=" ? min : max;
    const id = freshId("slider");
    const title = capital(words(measure, 28));
    const bound = this.comparator === ">=" ? "at least" : "at most";
    this.range = h("input", { type: "range", id, min, max: Math.max(max, min + step), step });
    this.field = h("input", {
      type: "text",
      inputmode: "decimal",
      placeholder: "any",
      title: isInTarget(measure) ? "A number in the unit of the target" : "A number or a percentage, such as 0.05 or 5%",
      "aria-label": `${title}: ${bound}, an exact number`,
    });
    this.range.addEventListener("input", () => this.ask(Number(this.range.value)));
    this.field.addEventListener("change", () => {
      const text = this.field.value.trim();
      const bound = limitOf(text);
      // Input that is not a number leaves the requirement unchanged.
      if (text !== "" && bound === null) this.follow();
      else this.ask(bound);
    });
    const label = h("label", { for: id }, h("span", {}, title), h("span", { class: "bound" }, ` ${bound}`));
    const meaning = explain(measure);
    if (meaning !== null) label.title = capital(meaning);
    this.element = h("div", { class: "slider" }, label, this.field, this.range);
  }

  focus(): void {
    this.range.focus();
  }

  shows(requirement: Requirement): boolean {
    return (
      isPlain(requirement) &&
      requirement.comparator === this.comparator &&
      canonical(requirement.term) === canonical(this.term)
    );
  }

  private ask(bound: number | null): void {
    const others = this.store.requirements.filter((r) => !this.shows(r));
    const none = bound === null || !Number.isFinite(bound) || bound === this.open;
    const own = none ? [] : [{ term: this.term, comparator: this.comparator, bound }];
    this.store.setRequirements([...others, ...own]);
  }

  follow(): void {
    const own = this.store.requirements.find((r) => this.shows(r));
    this.element.classList.toggle("asked", own !== undefined);
    if (own) {
      this.range.value = String(own.bound);
      if (Number(this.field.value) !== own.bound || this.field.value === "") this.field.value = plain(own.bound);
    } else {
      this.range.value = String(this.open);
      this.field.value = "";
    }
    const said = own ? `${this.comparator === ">=" ? "at least" : "at most"} ${plain(own.bound)}` : "no requirement";
    this.range.setAttribute("aria-valuetext", said);
  }
}

/** The rule that selects one of the remaining models. */
function rules(store: Store): HTMLElement {
  const best = `the ${direction(performanceName()) === "large" ? "highest" : "lowest"} ${words(performanceName())}`;
  const all: [string, string, Rule][] = [
    ["the most accurate", best, { kind: "best", term: parseTerm(performanceName()) }],
    ["the knee", "the model farthest below the straight line through the ends of the front, each value scaled to its range; for three or more objectives, a plane takes the place of the line", { kind: "knee" }],
    ["the least regret", "the model whose largest distance from the best value of any measure is smallest, each measure scaled to its range", { kind: "regret" }],
  ];
  const group = freshId("rule");
  const inputs = all.map(([title, meaning, rule]) => {
    const input = h("input", { type: "radio", name: group });
    input.addEventListener("change", () => store.setRule(rule));
    const label = h("label", { title: capital(meaning) }, input, h("span", {}, title));
    return { input, label, kind: rule.kind };
  });
  const element = h(
    "fieldset",
    { class: "rules" },
    h("legend", {}, "Of these models, select"),
    h("div", { class: "segments" }, ...inputs.map(({ label }) => label)),
  );
  const follow = () => {
    const rule = store.rule;
    for (const { input, kind } of inputs) {
      const byAccuracy = rule.kind !== "best" || canonical(rule.term) === performanceName();
      input.checked = rule.kind === kind && byAccuracy;
    }
  };
  store.on(["choice"], follow);
  follow();
  return element;
}
