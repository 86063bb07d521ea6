// The distributions of predicted numbers by group: the share of predictions of at most each number.

import { Drawing, drawReason, FONT, onTheme, theme, ticks, tickText } from "./canvas.ts";
import type { Attribute } from "./data.ts";
import { h, name, shorten } from "./dom.ts";
import type { Front, Value } from "./front.ts";
import { capital, modelName, rowsName, shortName, valueText } from "./label.ts";
import { targetUnit } from "./meaning.ts";
import { grouped } from "./number.ts";
import type { Store } from "./store.ts";

/** More lines cannot be told apart. */
const MOST_GROUPS = 8;

/** Colors that people with and without color vision deficiency can tell apart, on light and on dark ground. */
const COLORS: readonly (readonly [light: string, dark: string])[] = [
  ["#0b57a4", "#7fb8f5"],
  ["#b4490b", "#f2a15f"],
  ["#00795a", "#3fc79c"],
  ["#9b3a78", "#e093c2"],
  ["#7a6a00", "#d9c84a"],
  ["#3f4a55", "#b9c3cd"],
  ["#5a3fb0", "#b3a1f0"],
  ["#a11d2f", "#f08a97"],
];

/** The color of a group by its position. */
function color(i: number): string {
  const { ink, isDark } = theme();
  return COLORS[i]?.[isDark ? 1 : 0] ?? ink;
}

/** The numbers at which distributions are known, in the unit of the target. */
export function thresholds(): number[] {
  const unit = targetUnit();
  return unit === null ? [] : unit.thresholds.map((label) => unit.center + unit.scale * label);
}

/** The share of predictions of a model of at most each threshold in a group; `null` if they are not known. */
export function sharesOf(front: Front, model: number, attribute: string, group: string): number[] | null {
  const at = (_: number, i: number) => front.at(`distribution.${String(i + 1).padStart(2, "0")}(${attribute}=${group})`, model);
  return whole(thresholds().map(at));
}

function whole(values: Value[]): number[] | null {
  const found = values.filter((v) => v !== null);
  return found.length === values.length && found.length > 0 ? found : null;
}

/** The threshold with the largest difference between groups, and this difference. */
export function largestDifference(all: number[][]): { at: number; low: number; high: number } | null {
  let best: { at: number; low: number; high: number } | null = null;
  for (let at = 0; at < (all[0]?.length ?? 0); at++) {
    const shares = all.map((own) => own[at] ?? 0);
    const [low, high] = [Math.min(...shares), Math.max(...shares)];
    if (best === null || high - low > best.high - best.low) best = { at, low, high };
  }
  return best;
}

/** The groups that are drawn: the first ones, if there are too many. */
function drawn({ groups }: Attribute): string[] {
  return groups.slice(0, MOST_GROUPS);
}

/** The shares of the target of at most each threshold in a group; `null` if the run has none. */
function targetShares({ data }: Store, attribute: string, group: string): number[] | null {
  const key = `${attribute}=${group}`;
  const all = data.run.target_shares ?? {};
  return Object.hasOwn(all, key) ? whole(all[key] ?? []) : null;
}

/** The distributions of one model. */
class Curves extends Drawing {
  constructor(
    private readonly store: Store,
    private readonly attribute: Attribute,
    private readonly model: () => number,
  ) {
    super("distribution");
    this.surface.setAttribute("role", "img");
  }

  follow(): void {
    const { front } = this.store;
    const { name: attribute } = this.attribute;
    const model = this.model();
    const middle = Math.floor(thresholds().length / 2);
    const at = valueText("mean_prediction", thresholds()[middle] ?? null);
    const said = drawn(this.attribute).map((group) => {
      const share = sharesOf(front, model, attribute, group)?.[middle];
      return `${shorten(group, 40)} ${share === undefined ? "not defined" : `${Math.round(100 * share)}%`}`;
    });
    const label = `Distributions of predictions of ${modelName(model)} by ${shorten(attribute, 40)}; predictions of at most ${at}: ${said.join(", ")}`;
    this.surface.setAttribute("aria-label", label);
    this.draw();
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    const t = theme();
    const places = thresholds();
    const [left, top, right, bottom] = [44, 50, this.width - 18, this.height - 40];
    const model = this.model();
    const { name: attribute } = this.attribute;
    const shown = drawn(this.attribute).map((group) => ({
      own: sharesOf(this.store.front, model, attribute, group),
      target: targetShares(this.store, attribute, group),
    }));
    const [least, most] = ends();
    const x = (v: number) => left + ((v - least) / (most - least)) * (right - left);
    const y = (share: number) => bottom - share * (bottom - top);
    c.lineWidth = 1;
    c.strokeStyle = t.rule;
    c.fillStyle = t.soft;
    c.font = FONT;
    const xTicks = ticks(least, most, (right - left) / 75);
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const tick of xTicks) {
      line(c, [x(tick), top], [x(tick), bottom]);
      c.fillText(tickText(tick, xTicks), x(tick), bottom + 6);
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      line(c, [left, y(tick)], [right, y(tick)]);
      c.fillText(`${100 * tick}%`, left - 6, y(tick));
    }
    c.textBaseline = "alphabetic";
    c.fillText(`${shorten(this.store.data.run.spec.target ?? "target", 36)} →`, right, this.height - 6);
    c.textAlign = "left";
    c.fillText("share of at most this number ↑", 4, 32);
    c.fillStyle = t.ink;
    c.font = `600 ${FONT}`;
    c.fillText(capital(shortName(model)), 4, 13);
    if (shown.every(({ own }) => own === null)) {
      drawReason(c, "Nothing to show: the run has no distributions of predictions.", [left, top, right, bottom]);
      return;
    }
    const curve = (shares: number[]) => {
      c.beginPath();
      shares.forEach((share, i) => c.lineTo(x(places[i] ?? 0), y(share)));
      c.stroke();
    };
    c.lineJoin = "round";
    shown.forEach(({ target }, i) => {
      if (target === null) return;
      c.strokeStyle = color(i);
      c.lineWidth = 1.25;
      c.setLineDash([3, 4]);
      curve(target);
    });
    c.setLineDash([]);
    shown.forEach(({ own }, i) => {
      if (own === null) return;
      c.strokeStyle = color(i);
      c.lineWidth = 2.25;
      curve(own);
    });
    const found = largestDifference(shown.map(({ own }) => own).filter((own) => own !== null));
    if (found === null || found.high <= found.low) return;
    c.strokeStyle = t.ink;
    c.lineWidth = 1.5;
    const at = x(places[found.at] ?? 0);
    line(c, [at, y(found.low)], [at, y(found.high)]);
    for (const share of [found.low, found.high]) line(c, [at - 4, y(share)], [at + 4, y(share)]);
  }

  protected override drawOver(): void {
    // Nothing moves in this drawing.
  }
}

/** The ends of the horizontal axis: the thresholds, with a little air. */
function ends(): [number, number] {
  const all = thresholds();
  const [low, high] = [all[0] ?? 0, all[all.length - 1] ?? 1];
  const air = 0.04 * (high - low) || 1;
  return [low - air, high + air];
}

function line(c: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
  c.beginPath();
  c.moveTo(...from);
  c.lineTo(...to);
  c.stroke();
}

/** The distributions by the groups of an attribute, for the selected model and the one it is compared with. */
export class Distribution {
  readonly element: HTMLElement;
  private readonly own: Curves;
  private readonly other: Curves;
  private readonly second: HTMLElement;

  constructor(
    private readonly store: Store,
    attribute: Attribute,
  ) {
    this.own = new Curves(store, attribute, () => store.chosen);
    this.other = new Curves(store, attribute, () => store.other);
    this.second = h("div", {}, this.other.element);
    const groups = drawn(attribute);
    const items = groups.map((group, i) => {
      const key = h("span", { class: "key key-line", "aria-hidden": "true" });
      const paint = () => {
        key.style.background = color(i);
      };
      onTheme(paint);
      paint();
      return h("li", {}, key, name(group, 28));
    });
    const rest = attribute.groups.length - groups.length;
    this.element = h(
      "figure",
      { class: "distributions" },
      h("div", { class: "sides" }, h("div", {}, this.own.element), this.second),
      h(
        "figcaption",
        {},
        h("ul", { class: "legend" }, ...items, rest > 0 ? h("li", {}, `and ${grouped(rest)} more groups, which are not drawn`) : null),
      ),
    );
  }

  follow(): void {
    this.second.hidden = this.store.chosen === this.store.other;
    this.own.follow();
    if (!this.second.hidden) this.other.follow();
  }
}

/** Whether the run has distributions. */
export function hasDistributions({ front, data }: Store): boolean {
  return data.attributes.some(({ name: attribute, groups }) =>
    groups.some((group) => front.values(`distribution.01(${attribute}=${group})`) !== undefined),
  );
}

/** How to read the drawings. */
export function distributionIntro({ front, data }: Store): string {
  const dashed = data.run.target_shares === undefined ? "" : " Dashed lines show the target itself.";
  return (
    `The share of each group with a prediction of at most each number, on ${rowsName(front.reporting)} rows. The black bar ` +
    `is the largest difference between groups, at one of ${grouped(thresholds().length)} quantiles of the target.${dashed}`
  );
}
