// The front on two axes.

import {
  circle,
  diamond,
  Drawing,
  drawReason,
  FONT,
  gradient,
  label,
  padded,
  STRONG,
  tag,
  theme,
  ticks,
  tickText,
} from "./canvas.ts";
import { shorten } from "./dom.ts";
import { shape } from "./family.ts";
import { extent, known, UNMITIGATED, type Value } from "./front.ts";
import { nondominated } from "./knee.ts";
import {
  capital,
  columnName,
  columnOf,
  direction,
  isRate,
  type Measure,
  modelName,
  rowsName,
  shortName,
  unitText,
  valueText,
  words,
} from "./label.ts";
import { counted, grouped } from "./number.ts";
import type { Box } from "./place.ts";
import type { Store } from "./store.ts";
import { colorOf, drawBand, drawTrail, placesOf, tagsOf, type Trail, trailsOf, valuesAlong } from "./trail.ts";

export interface ScatterOptions {
  x: () => Measure;
  y: () => Measure;
  /** The measure that colors the models. */
  color?: () => Measure;
  /** A small drawing: fewer ticks, no names next to markers. */
  small?: boolean;
}

interface Scale {
  low: number;
  high: number;
}

/** The better direction, in words for an axis. */
function better(measure: Measure, arrows: readonly [more: string, less: string]): string {
  const side = direction(measure);
  if (side === null) return "";
  return (side === "large" ? `higher is better ${arrows[0]}` : `lower is better ${arrows[1]}`).trim();
}

/** How far bands and lines may extend an axis beyond the values, as a share of the range of values. */
const BEYOND = 0.6;

/** The ends of the bands of all models in one measure. */
interface Bands {
  lows: Value[];
  highs: Value[];
}

export class Scatter extends Drawing {
  private xs: Value[] = [];
  private ys: Value[] = [];
  private start: [Value, Value] = [null, null];
  private xBands: Bands | null = null;
  private yBands: Bands | null = null;
  private trails: Trail[] = [];
  private x: Scale = { low: 0, high: 1 };
  private y: Scale = { low: 0, high: 1 };
  private inFront: boolean[] = [];
  /** The models that can be shown, from left to right, which is the order of the arrow keys. */
  private along: number[] = [];
  private isPointedAt = false;
  private plot = { left: 0, top: 0, right: 0, bottom: 0 };

  constructor(
    private readonly store: Store,
    private readonly options: ScatterOptions,
  ) {
    super(options.small ? "small" : "large");
    this.surface.tabIndex = 0;
    this.surface.setAttribute("role", "slider");
    this.surface.setAttribute("aria-orientation", "horizontal");
    this.surface.addEventListener("pointermove", (e) => {
      this.isPointedAt = true;
      store.hover(this.nearest(...this.place(e)));
    });
    this.surface.addEventListener("pointerleave", () => {
      this.isPointedAt = false;
      store.hover(null);
    });
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

  /** Reads the values of the axes. */
  private measure(): void {
    const { front, split } = this.store;
    const [x, y] = [this.options.x(), this.options.y()];
    const [xColumn, yColumn] = [columnOf(front, x, split), columnOf(front, y, split)];
    this.xs = xColumn?.values ?? [];
    this.ys = yColumn?.values ?? [];
    const [xName, yName] = [xColumn?.name ?? "", yColumn?.name ?? ""];
    this.start = [front.at(xName, UNMITIGATED), front.at(yName, UNMITIGATED)];
    const bandsOf = (name: string): Bands | null => {
      const [lows, highs] = [front.values(`${name}.band_low`), front.values(`${name}.band_high`)];
      return lows && highs && !this.options.small ? { lows, highs } : null;
    };
    [this.xBands, this.yBands] = [bandsOf(xName), bandsOf(yName)];
    this.trails = trailsOf(this.store, x, y);
    const range = (values: Value[], start: Value, bands: Bands | null, axis: "x" | "y"): Scale => {
      const [least, most] = extent([...values, start, ...valuesAlong(this.trails, axis, "marks")]);
      const room = most > least ? BEYOND * (most - least) : Infinity;
      const lines = valuesAlong(this.trails, axis, "lines");
      const low = Math.max(Math.min(least, extent([...(bands?.lows ?? []), ...lines])[0]), least - room);
      const high = Math.min(Math.max(most, extent([...(bands?.highs ?? []), ...lines])[1]), most + room);
      const [from, to] = padded(low, high);
      return { low: from, high: to };
    };
    this.x = range(this.xs, this.start[0], this.xBands, "x");
    this.y = range(this.ys, this.start[1], this.yBands, "y");
    this.along = front.order.filter((i) => this.at(i) !== null);
    this.along.sort((a, b) => (this.xs[a] ?? 0) - (this.xs[b] ?? 0) || (this.ys[a] ?? 0) - (this.ys[b] ?? 0));
    // The models that are nondominated in the measures shown.
    const sign = (measure: Measure) => (direction(measure) === "large" ? -1 : 1);
    const shown = this.along.map((i) => [sign(x) * (this.xs[i] ?? 0), sign(y) * (this.ys[i] ?? 0)]);
    this.inFront = new Array<boolean>(front.length).fill(false);
    const judges = direction(x) !== null && direction(y) !== null;
    const best = judges ? nondominated(shown) : shown.map((_, i) => i);
    for (const i of best) this.inFront[this.along[i] ?? 0] = true;
  }

  private at(point: number): [number, number] | null {
    const [x, y] = point === UNMITIGATED ? this.start : [this.xs[point] ?? null, this.ys[point] ?? null];
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
      // Models that meet the requirements are easier to hit.
      const far = (place[0] - x) ** 2 + (place[1] - y) ** 2 + (this.store.meets[point] ? 0 : 16);
      if (far < least) {
        least = far;
        found = point;
      }
    }
    const start = this.at(UNMITIGATED);
    // Models of the front come first, because the marker of the unmitigated model can cover them.
    if (start && (start[0] - x) ** 2 + (start[1] - y) ** 2 + 40 < least) return UNMITIGATED;
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

  /** Sets the description for screen readers. */
  private describe(): void {
    const [x, y] = [this.options.x(), this.options.y()];
    const { chosen, split, data } = this.store;
    const suffix = data.families.suffix(chosen);
    const surface = this.surface;
    const named = (measure: Measure) => [`${words(measure)}${unitText(measure, data.run.spec.target)}`, better(measure, ["", ""])].filter(Boolean).join(", ");
    const axes = `horizontal axis: ${named(x)}; vertical axis: ${named(y)}`;
    surface.setAttribute(
      "aria-label",
      `The front on ${rowsName(split)} rows; ${axes}. Arrow keys move from model to model`,
    );
    surface.setAttribute("aria-valuemin", "1");
    surface.setAttribute("aria-valuemax", String(Math.max(this.along.length, 1)));
    surface.setAttribute("aria-valuenow", String(Math.max(this.along.indexOf(chosen) + 1, 1)));
    surface.setAttribute("aria-valuetext", `${capital(modelName(chosen))}${suffix}: ${this.values(chosen).join(", ")}`);
  }

  /** The values of a model on both axes. */
  private values(point: number, most = 40, order: "name first" | "value first" = "name first"): [x: string, y: string] {
    const { front, split } = this.store;
    const said = (measure: Measure) => {
      const value = front.at(columnName(measure, split), point);
      const both = [words(measure, most), value === null ? "not defined" : valueText(measure, value)];
      return (order === "name first" ? both : both.reverse()).join(" ");
    };
    return [said(this.options.x()), said(this.options.y())];
  }

  /** Why the plot is empty, or how many models it does not show; `null` if it shows all models. */
  missing(): string | null {
    const { front, split } = this.store;
    const left = front.length - this.along.length;
    if (left === 0) return null;
    const measures = [...new Set([this.options.y(), this.options.x()])];
    const valuesOf = (measure: Measure) => columnOf(front, measure, split)?.values ?? [null];
    const never = measures.filter((measure) => known(valuesOf(measure)).length === 0);
    const without = never.length > 0 ? never : measures.filter((measure) => valuesOf(measure).includes(null));
    const which = without.map((measure) => words(measure, 28)).join(" or ");
    if (left < front.length) {
      return `${grouped(left)} of ${counted(front.length, "model")} ${left === 1 ? "is" : "are"} not shown: ${which} is not defined.`;
    }
    return `Nothing to show: ${which} is not defined for any model on ${rowsName(split)} rows. Choose another measure or other rows.`;
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    const small = this.options.small ?? false;
    const [top, bottom] = [small ? 34 : 40, this.height - (small ? 46 : 54)];
    c.font = FONT;
    const all = this.verticalTicks(bottom - top, small);
    const widest = Math.max(...all.map((tick) => c.measureText(this.tick(tick, all, this.options.y())).width));
    this.plot = { left: Math.max(small ? 46 : 58, widest + 14), top, right: this.width - 18, bottom };
    if (this.along.length === 0) {
      this.drawTitles(c, small);
      drawReason(c, this.missing() ?? "", this.room());
      return;
    }
    this.drawAxes(c, small);
    if (!small) {
      this.drawBands(c);
      this.drawLine(c);
    }
    this.drawTrails(c, small);
    this.drawPoints(c, small);
  }

  /** Draws the overlays, inside the plot. */
  private drawTrails(c: CanvasRenderingContext2D, small: boolean): void {
    const { left, top, right, bottom } = this.plot;
    const measures: [Measure, Measure] = [this.options.x(), this.options.y()];
    c.save();
    c.beginPath();
    c.rect(left, top, right - left, bottom - top);
    c.clip();
    for (const trail of this.trails) if (!small) drawBand(c, trail, measures, this.placeOf);
    for (const trail of this.trails) drawTrail(c, trail, this.placeOf, small);
    c.restore();
  }

  private readonly placeOf = (x: number, y: number): [number, number] => [this.left(x), this.top(y)];

  /** The area for labels: inside the plot, off the axes. */
  private room(): Box {
    const { left, top, right, bottom } = this.plot;
    return [left + 2, top + 2, right - 2, bottom - 2];
  }

  private verticalTicks(height: number, small: boolean): number[] {
    return ticks(this.y.low, this.y.high, height / (small ? 45 : 60));
  }

  private drawAxes(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { left, top, right, bottom } = this.plot;
    const xTicks = ticks(this.x.low, this.x.high, (right - left) / (small ? 60 : 90));
    const yTicks = this.verticalTicks(bottom - top, small);
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
      c.fillText(this.tick(tick, xTicks, this.options.x()), x, bottom + 7);
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const tick of yTicks) {
      const y = Math.round(this.top(tick)) + 0.5;
      c.beginPath();
      c.moveTo(left, y);
      c.lineTo(right, y);
      c.stroke();
      c.fillText(this.tick(tick, yTicks, this.options.y()), left - 8, y);
    }
    this.drawTitles(c, small);
  }

  /** The label of a tick, as a percentage for shares. */
  private tick(value: number, all: number[], measure: Measure): string {
    if (!isRate(measure)) return tickText(value, all);
    const percent = all.map((v) => 100 * v);
    return `${tickText(100 * value, percent)}%`;
  }

  /** Draws the names of the axes with the better direction, or with "all within noise". */
  private drawTitles(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { right, bottom } = this.plot;
    const title = (measure: Measure, arrows: readonly [string, string], room: number) => {
      const name = capital(shorten(`${words(measure, 28)}${unitText(measure, this.store.data.run.spec.target)}`, 80));
      const noise = this.store.front.withinNoise(columnName(measure, this.store.split));
      const side = noise ? "all within noise" : better(measure, arrows);
      c.font = STRONG;
      const wide = c.measureText(name).width;
      c.font = FONT;
      const both = side !== "" && wide + 8 + c.measureText(side).width <= room;
      return { name, wide, side: both || noise ? side : side.slice(-1) };
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

  /** Fills the simultaneous bands along the models that are nondominated in the measures shown. */
  private drawBands(c: CanvasRenderingContext2D): void {
    if (!this.xBands && !this.yBands) return;
    const { left, top, right, bottom } = this.plot;
    const front = this.along.filter((point) => this.inFront[point]);
    c.save();
    c.beginPath();
    c.rect(left, top, right - left, bottom - top);
    c.clip();
    c.fillStyle = theme().point;
    c.globalAlpha = 0.09;
    const ribbon = (places: ([number, number] | null)[]) => {
      c.beginPath();
      for (const place of places) if (place) c.lineTo(...place);
      c.closePath();
      c.fill();
    };
    const end = (values: Value[] | undefined, point: number) => values?.[point] ?? null;
    if (this.yBands) {
      const place = (point: number, y: Value): [number, number] | null =>
        y === null ? null : [this.left(this.xs[point] ?? 0), this.top(y)];
      const up = front.map((point) => place(point, end(this.yBands?.highs, point)));
      const down = front.map((point) => place(point, end(this.yBands?.lows, point)));
      ribbon([...up, ...down.reverse()]);
    }
    if (this.xBands) {
      const place = (point: number, x: Value): [number, number] | null =>
        x === null ? null : [this.left(x), this.top(this.ys[point] ?? 0)];
      const up = front.map((point) => place(point, end(this.xBands?.highs, point)));
      const down = front.map((point) => place(point, end(this.xBands?.lows, point)));
      ribbon([...up, ...down.reverse()]);
    }
    c.restore();
  }

  /** Draws the 95% intervals of a model in both measures; returns their boxes. */
  private drawBars(c: CanvasRenderingContext2D, point: number, color: string): Box[] {
    const own = this.at(point);
    const { front, split } = this.store;
    const { left, top, right, bottom } = this.plot;
    const taken: Box[] = [];
    if (!own) return taken;
    const [x, y] = [this.options.x(), this.options.y()].map((m) => front.interval(columnName(m, split), point));
    c.save();
    c.beginPath();
    c.rect(left, top, right - left, bottom - top);
    c.clip();
    c.strokeStyle = color;
    c.lineWidth = 2;
    c.beginPath();
    if (x) {
      const [from, to] = [this.left(x[0]), this.left(x[1])];
      taken.push([from, own[1] - 4, to, own[1] + 4]);
      c.moveTo(from, own[1]);
      c.lineTo(to, own[1]);
      for (const end of [from, to]) {
        c.moveTo(end, own[1] - 4);
        c.lineTo(end, own[1] + 4);
      }
    }
    if (y) {
      const [from, to] = [this.top(y[0]), this.top(y[1])];
      taken.push([own[0] - 4, to, own[0] + 4, from]);
      c.moveTo(own[0], from);
      c.lineTo(own[0], to);
      for (const end of [from, to]) {
        c.moveTo(own[0] - 4, end);
        c.lineTo(own[0] + 4, end);
      }
    }
    c.stroke();
    c.restore();
    return taken;
  }

  /** Draws a line through the models that are nondominated in the measures shown. */
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

  /** Whether a model is dominated in most redraws of the test rows; without redraws, in the measures shown. */
  private isFaded(point: number): boolean {
    const shares = this.store.front.values("test.probability_nondominated");
    return shares ? (shares[point] ?? 1) < 0.5 : !this.inFront[point];
  }

  private drawPoints(c: CanvasRenderingContext2D, small: boolean): void {
    const t = theme();
    const { meets, front, split, data } = this.store;
    const { families } = data;
    const many = this.along.length > 400;
    // Shapes are distinguishable only if they are large enough.
    const radius = (small ? 2.6 : 3.8) * (many ? 0.75 : 1) * (families.areShown ? 1.15 : 1);
    const by = this.options.color && columnOf(front, this.options.color(), split)?.values;
    const [low, high] = extent(by ?? []);
    const color = (point: number) => {
      const value = by?.[point] ?? null;
      if (value === null) return families.of(point) === "linear" ? t.point : t.green;
      return gradient(high > low ? (value - low) / (high - low) : 0.5);
    };
    // Faded models first, so that they are below the others.
    for (const level of [0, 1, 2]) {
      for (const point of this.along) {
        const own = !meets[point] ? 0 : by || !this.isFaded(point) ? 2 : 1;
        const place = own === level ? this.at(point) : null;
        if (!place) continue;
        shape(c, families.of(point), place[0], place[1], level === 0 ? radius * 0.75 : radius);
        if (level === 0) {
          c.globalAlpha = 0.22;
          c.fillStyle = t.soft;
        } else {
          c.globalAlpha = level === 1 ? 0.38 : 0.92;
          c.fillStyle = color(point);
        }
        c.fill();
      }
    }
    c.globalAlpha = 1;
  }

  protected override drawOver(c: CanvasRenderingContext2D): void {
    const t = theme();
    const small = this.options.small ?? false;
    const { knee, chosen, other, hovered, data } = this.store;
    const { families } = data;
    const [taken, bars]: [Box[], Box[]] = [[], []];
    if (this.along.length === 0) return;
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
    const start = this.at(UNMITIGATED);
    const second = other === UNMITIGATED || other === chosen ? null : this.at(other);
    if (!small) {
      bars.push(...this.drawBars(c, other, t.warm), ...this.drawBars(c, chosen, t.accent));
    }
    if (second) {
      taken.push([second[0] - 7, second[1] - 7, second[0] + 7, second[1] + 7]);
      shape(c, families.of(other), second[0], second[1], small ? 5 : 6.5);
      mark(c, t.warm, t.surface);
    }
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
      if (chosen === UNMITIGATED) diamond(c, own[0], own[1], small ? 6 : 8);
      else shape(c, families.of(chosen), own[0], own[1], small ? 5 : 6.5);
      mark(c, t.accent, t.surface);
    }
    const over = hovered === null || hovered === chosen ? null : this.at(hovered);
    if (over) {
      circle(c, over[0], over[1], small ? 5 : 6.5);
      c.lineWidth = 2;
      c.strokeStyle = t.accent;
      c.stroke();
    }
    const crowd = this.along.flatMap((point) => {
      const place = this.at(point);
      return place ? [place] : [];
    });
    const room = this.room();
    if (!small) {
      const lines = this.trails.flatMap((trail) => placesOf(trail, this.placeOf));
      const name = (text: string, at: [number, number], color: string) => {
        taken.push(tag(c, text, at, color, room, [...taken, ...bars], [...crowd, ...lines]));
      };
      if (own) name(shortName(chosen), own, t.accent);
      if (start && chosen !== UNMITIGATED) name("unmitigated", start, t.warm);
      if (second) name(shortName(other), second, t.warm);
      for (const trail of this.trails) {
        for (const { text, at } of tagsOf(trail, this.placeOf)) {
          if (isInside(at, room)) name(text, at, colorOf(trail.overlay.kind));
        }
      }
    }
    const pointed = hovered === null ? null : this.at(hovered);
    delete this.surface.dataset.label;
    if (!pointed || hovered === null || (small && !this.isPointedAt)) return;
    const [x, y] = this.values(hovered, 28, "value first");
    const title = `${capital(shortName(hovered))}${families.suffix(hovered)}`;
    const box = label(c, [title, y, x], pointed, room, taken, crowd);
    this.surface.dataset.label = [...box, ...pointed].map((v) => v.toFixed(1)).join(" ");
  }
}

function isInside([x, y]: [number, number], [left, top, right, bottom]: Box): boolean {
  return x >= left && x <= right && y >= top && y <= bottom;
}

/** Fills the current path, with a rim that separates it from the background. */
function mark(c: CanvasRenderingContext2D, color: string, rim: string): void {
  c.fillStyle = color;
  c.lineWidth = 2;
  c.strokeStyle = rim;
  c.fill();
  c.stroke();
}
