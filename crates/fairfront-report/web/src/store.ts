// What is chosen, hovered and shown; all views follow it, and the address keeps it.

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
import { columnOf, judgedMeasures, type Measure } from "./label.ts";
import { plain } from "./number.ts";
import { meetingOf, type Rule, select, type Selection, Unmet } from "./select.ts";

/** What changed: the chosen model or the requirements, the model under the pointer, rows or axes. */
export type Change = "choice" | "hover" | "view";

/** A rule of `select`, where the report opens, or the unmitigated model. */
export type Asked = Rule | { kind: "opening" } | { kind: "unmitigated" };

export class Store {
  readonly front: Front;
  requirements: Requirement[] = [];
  rule: Asked = { kind: "opening" };
  /** Whether somebody said by which rule to choose; before, requirements are met most accurately. */
  ruleIsAsked = false;
  split: Split;
  x: Measure;
  y: Measure;
  /** The chosen model, which may be the unmitigated one. */
  chosen = UNMITIGATED;
  /** The model that it is compared with. */
  other = UNMITIGATED;
  hovered: number | null = null;
  /** Whether each point meets all requirements. */
  meets: boolean[] = [];
  meeting = 0;
  /** `null` for the unmitigated model. */
  selection: Selection | null = null;
  /** What stands against the choice: nothing meets the requirements, or the address asks for nonsense. */
  problem: string | null = null;
  /** Where the report opens, if that is a model of the front. */
  readonly knee: number | null;
  private readonly listeners: [Change[], () => void][] = [];
  private slowest = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly data: PageData) {
    this.front = data.front;
    this.split = data.front.reporting;
    const judged = judgedMeasures(data.front);
    this.y = judged[0] ?? "accuracy";
    this.x = judged[1] ?? this.y;
    this.knee = data.opening.model;
    this.readAddress();
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.address()) this.change(["choice", "view"], () => this.readAddress());
    });
  }

  on(changes: Change[], listener: () => void): void {
    this.listeners.push([changes, listener]);
  }

  /** Changes something and lets everybody know; how long that took is kept on the page. */
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

  /** Puts the choice into the address, once things are still: browsers allow only so many changes of it. */
  private keepAddress(): void {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => history.replaceState(null, "", `#${this.address()}`), 150);
  }

  hover(point: number | null): void {
    if (point === this.hovered) return;
    this.change(["hover"], () => {
      this.hovered = point;
    });
  }

  /** Takes one model, whatever it is like. */
  pick(id: number): void {
    this.change(["choice"], () => {
      this.rule = id === UNMITIGATED ? { kind: "unmitigated" } : { kind: "id", id };
      this.ruleIsAsked = true;
      this.choose();
    });
  }

  /** Compares the chosen model with this one. */
  compareWith(id: number): void {
    this.change(["choice"], () => {
      this.other = id;
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
      // A model picked by hand, or the one that the report opened at, gives way to the best that remains.
      if (this.rule.kind === "id" || this.rule.kind === "unmitigated" || !this.ruleIsAsked) {
        this.ruleIsAsked = false;
        this.rule =
          requirements.length === 0 ? { kind: "opening" } : { kind: "best", term: parseTerm("accuracy") };
      }
      this.choose();
    });
  }

  setView(view: Partial<Pick<Store, "split" | "x" | "y">>): void {
    this.change(["view"], () => Object.assign(this, view));
  }

  /** Chooses by requirements and rule. */
  private choose(): void {
    this.problem = null;
    const meeting = meetingOf(this.front, this.requirements);
    this.meeting = meeting.length;
    this.meets = new Array<boolean>(this.front.length).fill(false);
    for (const point of meeting) this.meets[point] = true;
    const rule = this.ruleOfSelect();
    if (rule === null) {
      this.selection = null;
      this.chosen = UNMITIGATED;
      return;
    }
    const requirements = rule.kind === "id" ? [] : this.requirements;
    try {
      this.selection = select(this.front, requirements, rule);
      this.chosen = this.selection.id;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      const id = error instanceof Unmet ? error.nearest : (this.front.order[0] ?? 0);
      this.selection = select(this.front, [], { kind: "id", id });
      this.chosen = id;
    }
  }

  /** The rule as `select` knows it; `null` for the unmitigated model. */
  private ruleOfSelect(): Rule | null {
    const rule = this.rule;
    if (rule.kind === "unmitigated") return null;
    if (rule.kind !== "opening") return rule;
    return this.knee === null ? null : { kind: "id", id: this.knee };
  }

  /** The choice in the words of the command: `require=…&best=…`. */
  private address(): string {
    const said = new URLSearchParams();
    for (const requirement of this.requirements) said.append("require", requirementText(requirement));
    const rule = this.rule;
    if (rule.kind === "best") said.append("best", termText(rule.term));
    else if (rule.kind === "id") said.append("id", String(rule.id));
    else if (rule.kind === "weights") {
      said.append("weights", rule.weights.map(([t, w]) => `${termText(t)}=${plain(w)}`).join(","));
    } else if (rule.kind !== "opening") said.append(rule.kind, "");
    if (this.other !== UNMITIGATED) said.append("with", String(this.other));
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
      const [best, id, weights] = [asked.get("best"), asked.get("id"), asked.get("weights")];
      this.ruleIsAsked = true;
      if (id !== null) {
        this.rule = { kind: "id", id: id === "" ? NaN : Number(id) };
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
            : { kind: "best", term: parseTerm("accuracy") };
      }
    } catch (error) {
      wrong = `the address of this report asks for something that does not exist: ${
        error instanceof Error ? error.message : String(error)
      }`;
      this.requirements = [];
      this.rule = { kind: "opening" };
      this.ruleIsAsked = false;
    }
    const other = Number(asked.get("with") ?? UNMITIGATED);
    this.other = Number.isInteger(other) && other >= 0 && other < this.front.length ? other : UNMITIGATED;
    const split = SPLITS.find((one) => one === asked.get("rows"));
    if (split && this.front.splits.includes(split)) this.split = split;
    const [x, y] = [asked.get("x"), asked.get("y")];
    if (x !== null && columnOf(this.front, x, this.split)) this.x = x;
    if (y !== null && columnOf(this.front, y, this.split)) this.y = y;
    this.choose();
    this.problem = wrong ?? this.problem;
  }
}
