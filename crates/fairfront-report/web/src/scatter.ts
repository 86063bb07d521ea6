// The front on two axes.

import {
  circle,
  diamond,
  Drawing,
  FONT,
  gradient,
  padded,
  STRONG,
  tag,
  theme,
  ticks,
  tickText,
} from "./canvas.ts";
import { shorten } from "./dom.ts";
import { extent, type Value } from "./front.ts";
import { nondominated } from "./knee.ts";
import { capital, columnOf, direction, type Measure, words, rowsName } from "./label.ts";
import { readable } from "./number.ts";
import type { Store } from "./store.ts";

export interface ScatterOptions {
  x: () => Measure;
  y: () => Measure;
  /** Colours points by this. */
  colour?: () => Measure;
  /** A small drawing: fewer ticks, no names at marks. */
  small?: boolean;
}

interface Scale {
  low: number;
  high: number;
}

/** What direction is better, in words for an axis. */
function better(measure: Measure, arrows: readonly [more: string, less: string]): string {
  const side = direction(measure);
  if (side === null) return "";
  return (side === "large" ? `higher is better ${arrows[0]}` : `lower is better ${arrows[1]}`).trim();
}

export class Scatter extends Drawing {
  private xs: Value[] = [];
  private ys: Value[] = [];
  private x: Scale = { low: 0, high: 1 };
  private y: Scale = { low: 0, high: 1 };
  private inFront: boolean[] = [];
  /** The points that can be shown, from left to right: what arrow keys go along. */
  private along: number[] = [];
  private plot = { left: 0, top: 0, right: 0, bottom: 0 };

  constructor(
    private readonly store: Store,
    private readonly options: ScatterOptions,
  ) {
    super(options.small ? "small" : "large");
    this.surface.tabIndex = 0;
    this.surface.setAttribute("role", "slider");
    this.surface.setAttribute("aria-orientation", "horizontal");
    this.surface.addEventListener("pointermove", (e) => store.hover(this.nearest(...this.place(e))));
    this.surface.addEventListener("pointerleave", () => store.hover(null));
    this.surface.addEventListener("click", (e) => {
      const point = this.nearest(...this.place(e));
      if (point !== null) store.pick(point);
    });
    this.surface.addEventListener("keydown", (e) => this.onKey(e));
    store.on(["view"], () => {
      this.measure();
      this.draw();
      this.describe();
    });
    store.on(["choice"], () => {
      this.draw();
      this.describe();
    });
    store.on(["hover"], () => this.drawTop());
    this.measure();
    this.describe();
  }

  /** Takes the values of the axes. */
  private measure(): void {
    const { front, split } = this.store;
    const [x, y] = [this.options.x(), this.options.y()];
    const [xColumn, yColumn] = [columnOf(front, x, split), columnOf(front, y, split)];
    this.xs = xColumn?.values ?? [];
    this.ys = yColumn?.values ?? [];
    const range = (values: Value[], name: string | undefined): Scale => {
      const all = [...values, front.unmitigated.get(name ?? "") ?? null];
      const [low, high] = padded(...extent(all));
      return { low, high };
    };
    this.x = range(this.xs, xColumn?.name);
    this.y = range(this.ys, yColumn?.name);
    this.along = front.order.filter((i) => this.at(i) !== null);
    this.along.sort((a, b) => (this.xs[a] ?? 0) - (this.xs[b] ?? 0) || (this.ys[a] ?? 0) - (this.ys[b] ?? 0));
    // Which points no other is better than in what is shown.
    const sign = (measure: Measure) => (direction(measure) === "large" ? -1 : 1);
    const shown = this.along.map((i) => [sign(x) * (this.xs[i] ?? 0), sign(y) * (this.ys[i] ?? 0)]);
    this.inFront = new Array<boolean>(front.length).fill(false);
    const judges = direction(x) !== null && direction(y) !== null;
    const best = judges ? nondominated(shown) : shown.map((_, i) => i);
    for (const i of best) this.inFront[this.along[i] ?? 0] = true;
  }

  private at(point: number): [number, number] | null {
    const [x, y] = [this.xs[point] ?? null, this.ys[point] ?? null];
    return x === null || y === null ? null : [this.left(x), this.top(y)];
  }

  private left(value: number): number {
    const { left, right } = this.plot;
    return left + ((value - this.x.low) / (this.x.high - this.x.low)) * (right - left);
  }

  private top(value: number): number {
    const { top, bottom } = this.plot;
    return bottom - ((value - this.y.low) / (this.y.high - this.y.low)) * (bottom - top);
  }

  private nearest(x: number, y: number): number | null {
    let found: number | null = null;
    let least = 22 * 22;
    for (const point of this.along) {
      const place = this.at(point);
      if (place === null) continue;
      // What meets the requirements is easier to hit.
      const far = (place[0] - x) ** 2 + (place[1] - y) ** 2 + (this.store.meets[point] ? 0 : 16);
      if (far < least) {
        least = far;
        found = point;
      }
    }
    return found;
  }

  private onKey(event: KeyboardEvent): void {
    const at = this.along.indexOf(this.store.chosen);
    const to: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      PageUp: at + 10,
      PageDown: at - 10,
      Home: 0,
      End: this.along.length - 1,
    };
    const wanted = to[event.key];
    if (wanted === undefined || this.along.length === 0) return;
    event.preventDefault();
    const point = this.along[Math.min(Math.max(wanted, 0), this.along.length - 1)];
    if (point !== undefined) this.store.pick(point);
  }

  /** What a screen reader says. */
  private describe(): void {
    const [x, y] = [this.options.x(), this.options.y()];
    const { chosen, split } = this.store;
    const surface = this.surface;
    const named = (measure: Measure) => [words(measure), better(measure, ["", ""])].filter(Boolean).join(", ");
    const sides = `${named(x)}, across; ${named(y)}, upwards`;
    surface.setAttribute(
      "aria-label",
      `The front on ${rowsName(split)} rows: ${sides}. Arrow keys go from model to model`,
    );
    surface.setAttribute("aria-valuemin", "1");
    surface.setAttribute("aria-valuemax", String(Math.max(this.along.length, 1)));
    surface.setAttribute("aria-valuenow", String(Math.max(this.along.indexOf(chosen) + 1, 1)));
    surface.setAttribute("aria-valuetext", `Model ${chosen}: ${this.said(chosen)}`);
  }

  private said(point: number): string {
    const said = (measure: Measure, value: Value) =>
      `${words(measure)} ${value === null ? "cannot be given" : readable(value)}`;
    const [x, y] = [this.options.x(), this.options.y()];
    return `${said(x, this.xs[point] ?? null)}, ${said(y, this.ys[point] ?? null)}`;
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    const small = this.options.small ?? false;
    this.plot = {
      left: small ? 46 : 58,
      top: small ? 34 : 40,
      right: this.width - (small ? 10 : 16),
      bottom: this.height - (small ? 46 : 54),
    };
    this.drawAxes(c, small);
    if (!small) this.drawLine(c);
    this.drawPoints(c, small);
  }

  private drawAxes(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { left, top, right, bottom } = this.plot;
    const xTicks = ticks(this.x.low, this.x.high, (right - left) / (small ? 60 : 90));
    const yTicks = ticks(this.y.low, this.y.high, (bottom - top) / (small ? 45 : 60));
    c.strokeStyle = t.rule;
    c.lineWidth = 1;
    c.fillStyle = t.soft;
    c.font = FONT;
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const tick of xTicks) {
      const x = Math.round(this.left(tick)) + 0.5;
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, bottom);
      c.stroke();
      c.fillText(tickText(tick, xTicks), x, bottom + 7);
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of yTicks) {
      const y = Math.round(this.top(tick)) + 0.5;
      c.beginPath();
      c.moveTo(left, y);
      c.lineTo(right, y);
      c.stroke();
      c.fillText(tickText(tick, yTicks), left - 8, y);
    }
    this.drawTitles(c, small);
  }

  /** What is on the axes, and which way is better. */
  private drawTitles(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { right, bottom } = this.plot;
    const title = (measure: Measure, arrows: readonly [string, string], room: number) => {
      const name = capital(shorten(words(measure, 28), 60));
      const side = better(measure, arrows);
      c.font = STRONG;
      const wide = c.measureText(name).width;
      c.font = FONT;
      const both = side !== "" && wide + 8 + c.measureText(side).width <= room;
      return { name, wide, side: both ? side : side.slice(-1) };
    };
    c.textBaseline = "alphabetic";
    const y = title(this.options.y(), ["↑", "↓"], this.width - 12);
    const x = title(this.options.x(), ["→", "←"], this.width - 12);
    const draw = (text: typeof x, start: number, base: number) => {
      c.textAlign = "left";
      c.font = STRONG;
      c.fillStyle = t.ink;
      c.fillText(text.name, start, base);
      c.font = FONT;
      c.fillStyle = t.soft;
      c.fillText(text.side, start + text.wide + 8, base);
    };
    draw(y, small ? 4 : 8, small ? 16 : 18);
    c.font = FONT;
    const whole = x.wide + 8 + c.measureText(x.side).width;
    draw(x, Math.max(right - whole, 4), bottom + (small ? 38 : 44));
  }

  /** Through the points that no other beats in what is shown. */
  private drawLine(c: CanvasRenderingContext2D): void {
    if (direction(this.options.x()) === null || direction(this.options.y()) === null) return;
    c.strokeStyle = theme().point;
    c.globalAlpha = 0.35;
    c.lineWidth = 1.5;
    c.beginPath();
    for (const point of this.along) {
      const place = this.inFront[point] ? this.at(point) : null;
      if (place) c.lineTo(...place);
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  private drawPoints(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { meets, front, split } = this.store;
    const many = this.along.length > 400;
    const radius = (small ? 2.6 : 3.8) * (many ? 0.75 : 1);
    const by = this.options.colour && columnOf(front, this.options.colour(), split)?.values;
    const [low, high] = extent(by ?? []);
    const colour = (point: number) => {
      const value = by?.[point] ?? null;
      if (value === null) return t.point;
      return gradient(high > low ? (value - low) / (high - low) : 0.5);
    };
    // What is faded first, so that it is below.
    for (const level of [0, 1, 2]) {
      for (const point of this.along) {
        const own = !meets[point] ? 0 : by || this.inFront[point] ? 2 : 1;
        const place = own === level ? this.at(point) : null;
        if (!place) continue;
        circle(c, place[0], place[1], level === 0 ? radius * 0.75 : radius);
        if (level === 0) {
          c.globalAlpha = 0.22;
          c.fillStyle = t.soft;
        } else {
          c.globalAlpha = level === 1 ? 0.38 : 0.92;
          c.fillStyle = colour(point);
        }
        c.fill();
      }
    }
    c.globalAlpha = 1;
  }

  protected override drawOver(c: CanvasRenderingContext2D): void {
    const t = theme();
    const small = this.options.small ?? false;
    const { front, split, knee, chosen, hovered } = this.store;
    const taken: [number, number, number, number][] = [];
    const unmitigated = [this.options.x(), this.options.y()].map((measure) => {
      const column = columnOf(front, measure, split);
      return front.unmitigated.get(column?.name ?? "") ?? null;
    });
    const own = this.at(chosen);
    if (own) {
      taken.push([own[0] - 7, own[1] - 7, own[0] + 7, own[1] + 7]);
      const { left, top, right, bottom } = this.plot;
      c.strokeStyle = t.accent;
      c.globalAlpha = 0.4;
      c.lineWidth = 1;
      c.setLineDash([3, 4]);
      c.beginPath();
      c.moveTo(left, own[1]);
      c.lineTo(right, own[1]);
      c.moveTo(own[0], top);
      c.lineTo(own[0], bottom);
      c.stroke();
      c.setLineDash([]);
      c.globalAlpha = 1;
    }
    const [ux = null, uy = null] = unmitigated;
    const start: [number, number] | null = ux === null || uy === null ? null : [this.left(ux), this.top(uy)];
    if (start) {
      taken.push([start[0] - 7, start[1] - 7, start[0] + 7, start[1] + 7]);
      diamond(c, start[0], start[1], small ? 5.5 : 7);
      mark(c, t.warm, t.surface);
    }
    const bend = knee === null ? null : this.at(knee);
    if (bend) {
      circle(c, bend[0], bend[1], small ? 6 : 8.5);
      c.lineWidth = 1.75;
      c.strokeStyle = t.ink;
      c.stroke();
    }
    if (own) {
      circle(c, own[0], own[1], small ? 5 : 6.5);
      mark(c, t.accent, t.surface);
    }
    const over = hovered === null || hovered === chosen ? null : this.at(hovered);
    if (over) {
      circle(c, over[0], over[1], small ? 5 : 6.5);
      c.lineWidth = 2;
      c.strokeStyle = t.accent;
      c.stroke();
    }
    if (small) return;
    const width = this.width;
    const crowd = this.along.flatMap((point) => {
      const place = this.at(point);
      return place ? [place] : [];
    });
    const name = (text: string, at: [number, number], colour: string) =>
      tag(c, text, at[0], at[1], colour, width, taken, crowd);
    if (own) name(knee === chosen ? `model ${chosen}, the knee` : `model ${chosen}`, own, t.accent);
    if (start) name("unmitigated", start, t.warm);
    if (bend && knee !== chosen) name("knee", bend, t.ink);
    if (over && hovered !== null) name(`${hovered}: ${this.said(hovered)}`, over, t.ink);
  }
}

/** Fills what was drawn, with a rim that sets it off. */
function mark(c: CanvasRenderingContext2D, colour: string, rim: string): void {
  c.fillStyle = colour;
  c.lineWidth = 2;
  c.strokeStyle = rim;
  c.fill();
  c.stroke();
}
