// The state of the report: selected, compared and hovered model (as indices), rows and axes. All views follow it, and
// the address stores it.

import type { PageData } from "./data.ts";
import { type Front, UNMITIGATED } from "./front.ts";
import {
  parseRequirement,
  parseTerm,
  parseWeights,
  type Requirement,
  requirementText,
  type Split,
  SPLITS,
  termText,
} from "./grammar.ts";
import { performanceName } from "./meaning.ts";
import { columnOf, type Measure, shownMeasures } from "./label.ts";
import { idOf, indexOf, parseId } from "./modelId.ts";
import { isShownOn, type Overlay } from "./overlay.ts";
import { plain } from "./number.ts";
import { meetingOf, type Rule, select, type Selection, Unmet } from "./select.ts";

/** The kind of a change: selection, comparison or requirements; the model under the pointer; rows or axes. */
export type Change = "choice" | "hover" | "view";

/** A rule of `select`, the model that the report opens at, or the unmitigated model. */
export type Asked = Rule | { kind: "opening" } | { kind: "unmitigated" };

export class Store {
  readonly front: Front;
  requirements: Requirement[] = [];
  rule: Asked = { kind: "opening" };
  /** Whether you chose a rule; otherwise, requirements select the most accurate model that meets them. */
  ruleIsAsked = false;
  split: Split;
  x: Measure;
  y: Measure;
  /** The selected model, which may be the unmitigated model. */
  chosen = UNMITIGATED;
  /** The model that it is compared with. */
  other = UNMITIGATED;
  hovered: number | null = null;
  /** Whether each model meets all requirements. */
  meets: boolean[] = [];
  meeting = 0;
  /** `null` for the unmitigated model. */
  selection: Selection | null = null;
  /** The problem of the selection: no model meets the requirements, or the address is invalid. */
  problem: string | null = null;
  /** The overlays that you switched off. */
  readonly hiddenOverlays = new Set<Overlay>();
  /** The model that the report opens at; `null` for the unmitigated model. */
  readonly knee: number | null;
  private readonly listeners: [Change[], () => void][] = [];
  private slowest = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly data: PageData) {
    this.front = data.front;
    this.split = data.front.reporting;
    const shown = shownMeasures(data.front);
    this.y = shown[0] ?? performanceName();
    this.x = shown[1] ?? this.y;
    this.knee = data.opening.model;
    this.readAddress();
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.address()) this.change(["choice", "view"], () => this.readAddress());
    });
  }

  on(changes: Change[], listener: () => void): void {
    this.listeners.push([changes, listener]);
  }

  /** Changes the state and notifies all listeners; attributes of the document record the time that this took. */
  change(changes: Change[], act: () => void): void {
    const start = performance.now();
    act();
    for (const [wanted, listener] of this.listeners) {
      if (wanted.some((one) => changes.includes(one))) listener();
    }
    if (changes.some((one) => one !== "hover")) this.keepAddress();
    const took = performance.now() - start;
    this.slowest = Math.max(this.slowest, took);
    document.documentElement.dataset.lastMs = took.toFixed(1);
    document.documentElement.dataset.slowestMs = this.slowest.toFixed(1);
  }

  /** Writes the selection into the address after a pause, because browsers limit the rate of such changes. */
  private keepAddress(): void {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => history.replaceState(null, "", `#${this.address()}`), 150);
  }

  hover(model: number | null): void {
    if (model === this.hovered) return;
    this.change(["hover"], () => {
      this.hovered = model;
    });
  }

  /** Selects a model, regardless of the requirements. */
  pick(model: number): void {
    this.change(["choice"], () => {
      this.rule = model === UNMITIGATED ? { kind: "unmitigated" } : { kind: "id", id: idOf(model) };
      this.ruleIsAsked = true;
      this.choose();
    });
  }

  /** Compares the selected model with this one. */
  compareWith(model: number): void {
    this.change(["choice"], () => {
      this.other = model;
    });
  }

  setRule(rule: Rule): void {
    this.change(["choice"], () => {
      this.rule = rule;
      this.ruleIsAsked = true;
      this.choose();
    });
  }

  setRequirements(requirements: Requirement[]): void {
    this.change(["choice"], () => {
      this.requirements = requirements;
      // Without a rule of your own, requirements select the most accurate model that meets them.
      if (this.rule.kind === "id" || this.rule.kind === "unmitigated" || !this.ruleIsAsked) {
        this.ruleIsAsked = false;
        this.rule =
          requirements.length === 0 ? { kind: "opening" } : { kind: "best", term: parseTerm(performanceName()) };
      }
      this.choose();
    });
  }

  setView(view: Partial<Pick<Store, "split" | "x" | "y">>): void {
    this.change(["view"], () => Object.assign(this, view));
  }

  /** The overlays that belong to a plot of these measures on the current rows, including those switched off. */
  overlaysOf(measures: Measure[]): Overlay[] {
    return (this.data.run.overlays ?? []).filter((overlay) => isShownOn(overlay, measures, this.split));
  }

  /** Switches an overlay on or off in all plots. */
  showOverlay(overlay: Overlay, isShown: boolean): void {
    this.change(["view"], () => {
      if (isShown) this.hiddenOverlays.delete(overlay);
      else this.hiddenOverlays.add(overlay);
    });
  }

  /** Selects a model by the requirements and the rule. */
  private choose(): void {
    this.problem = null;
    const meeting = meetingOf(this.front, this.requirements);
    this.meeting = meeting.length;
    this.meets = new Array<boolean>(this.front.length).fill(false);
    for (const model of meeting) this.meets[model] = true;
    const rule = this.ruleOfSelect();
    if (rule === null) {
      this.selection = null;
      this.chosen = UNMITIGATED;
      return;
    }
    const requirements = rule.kind === "id" ? [] : this.requirements;
    try {
      this.selection = select(this.front, requirements, rule);
      this.chosen = this.selection.model;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      const model = error instanceof Unmet ? error.nearest : (this.front.order[0] ?? 0);
      this.selection = select(this.front, [], { kind: "id", id: idOf(model) });
      this.chosen = model;
    }
  }

  /** The rule for `select`; `null` for the unmitigated model. */
  private ruleOfSelect(): Rule | null {
    const rule = this.rule;
    if (rule.kind === "unmitigated") return null;
    if (rule.kind !== "opening") return rule;
    return this.knee === null ? null : { kind: "id", id: idOf(this.knee) };
  }

  /** The selection, with the names of the command's flags: `require=…&best=…`. */
  private address(): string {
    const said = new URLSearchParams();
    for (const requirement of this.requirements) said.append("require", requirementText(requirement));
    const rule = this.rule;
    if (rule.kind === "best") said.append("best", termText(rule.term));
    else if (rule.kind === "id") said.append("model-id", String(rule.id));
    else if (rule.kind === "weights") {
      said.append("weights", rule.weights.map(([t, w]) => `${termText(t)}=${plain(w)}`).join(","));
    } else if (rule.kind !== "opening") said.append(rule.kind, "");
    if (this.other !== UNMITIGATED) said.append("with", String(idOf(this.other)));
    said.append("x", this.x);
    said.append("y", this.y);
    said.append("rows", this.split);
    return said.toString();
  }

  private readAddress(): void {
    const asked = new URLSearchParams(location.hash.slice(1) || this.data.start);
    let wrong: string | null = null;
    try {
      this.requirements = asked.getAll("require").map(parseRequirement);
      meetingOf(this.front, this.requirements);
      const [best, id, weights] = [asked.get("best"), asked.get("model-id"), asked.get("weights")];
      this.ruleIsAsked = true;
      if (id !== null) {
        this.rule = { kind: "id", id: parseId(id) };
        select(this.front, [], this.rule);
      } else if (weights !== null) this.rule = { kind: "weights", weights: parseWeights(weights) };
      else if (asked.has("regret")) this.rule = { kind: "regret" };
      else if (asked.has("knee")) this.rule = { kind: "knee" };
      else if (asked.has("unmitigated")) this.rule = { kind: "unmitigated" };
      else if (best !== null) this.rule = { kind: "best", term: parseTerm(best) };
      else {
        this.ruleIsAsked = false;
        this.rule =
          this.requirements.length === 0
            ? { kind: "opening" }
            : { kind: "best", term: parseTerm(performanceName()) };
      }
    } catch (error) {
      wrong = `the address of this report is invalid: ${
        error instanceof Error ? error.message : String(error)
      }`;
      this.requirements = [];
      this.rule = { kind: "opening" };
      this.ruleIsAsked = false;
    }
    const other = indexOf(parseId(asked.get("with") ?? ""));
    this.other = this.front.has(other) ? other : UNMITIGATED;
    const split = SPLITS.find((one) => one === asked.get("rows"));
    if (split && this.front.splits.includes(split)) this.split = split;
    const [x, y] = [asked.get("x"), asked.get("y")];
    if (x !== null && columnOf(this.front, x, this.split)) this.x = x;
    if (y !== null && columnOf(this.front, y, this.split)) this.y = y;
    this.choose();
    this.problem = wrong ?? this.problem;
  }
}
