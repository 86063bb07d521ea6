// Any number of measures side by side: a line is a model, and up is better on every axis.

import { Drawing, FONT, STRONG, tag, theme } from "./canvas.ts";
import { shorten } from "./dom.ts";
import { extent, UNMITIGATED, type Value } from "./front.ts";
import { columnOf, direction, type Measure, shortName, words } from "./label.ts";
import { readable } from "./number.ts";
import type { Store } from "./store.ts";

/** Where axes begin, below their names. */
const TOP = 74;

export class Parallel extends Drawing {
  private columns: Value[][] = [];
  private starts: Value[] = [];
  private ranges: [number, number][] = [];

  constructor(
    private readonly store: Store,
    private readonly measures: Measure[],
  ) {
    super("parallel");
    this.surface.setAttribute("role", "img");
    this.surface.addEventListener("pointermove", (e) => store.hover(this.nearest(...this.place(e))));
    this.surface.addEventListener("pointerleave", () => store.hover(null));
    this.surface.addEventListener("click", (e) => {
      const point = this.nearest(...this.place(e));
      if (point !== null) store.pick(point);
    });
    store.on(["view"], () => {
      this.measure();
      this.draw();
    });
    store.on(["choice"], () => this.draw());
    store.on(["hover"], () => this.drawTop());
    this.measure();
    const all = measures.map((measure) => words(measure)).join(", ");
    this.surface.setAttribute(
      "aria-label",
      `All models as lines across ${all}; up is better. The table of all models has the same numbers`,
    );
  }

  private measure(): void {
    const { front, split } = this.store;
    const columns = this.measures.map((measure) => columnOf(front, measure, split));
    this.columns = columns.map((c) => c?.values ?? []);
    this.starts = columns.map((c) => front.unmitigated.get(c?.name ?? "") ?? null);
    this.ranges = this.columns.map((values, i) => extent([...values, this.starts[i] ?? null]));
  }

  private left(axis: number): number {
    const side = Math.min(90, this.width / (2 * this.measures.length));
    const gaps = Math.max(this.measures.length - 1, 1);
    return side + (axis / gaps) * (this.width - 2 * side);
  }

  private top(axis: number, value: number): number {
    const [low, high] = this.ranges[axis] ?? [0, 1];
    const share = high > low ? (value - low) / (high - low) : 0.5;
    const up = direction(this.measures[axis] ?? "") === "large" ? share : 1 - share;
    return this.height - 34 - up * (this.height - 34 - TOP);
  }

  private line(c: CanvasRenderingContext2D, values: Value[]): void {
    c.beginPath();
    let down = false;
    values.forEach((value, axis) => {
      if (value === null) {
        down = false;
        return;
      }
      const [x, y] = [this.left(axis), this.top(axis, value)];
      if (down) c.lineTo(x, y);
      else c.moveTo(x, y);
      down = true;
    });
    c.stroke();
  }

  private of(point: number): Value[] {
    return point === UNMITIGATED ? this.starts : this.columns.map((column) => column[point] ?? null);
  }

  private nearest(x: number, y: number): number | null {
    let axis = 0;
    while (axis < this.measures.length - 2 && x > this.left(axis + 1)) axis++;
    const [from, to] = [this.left(axis), this.left(axis + 1)];
    const share = to > from ? Math.min(Math.max((x - from) / (to - from), 0), 1) : 0;
    let found: number | null = null;
    let least = 18;
    for (let point = 0; point < this.store.front.length; point++) {
      const [a, b] = [this.columns[axis]?.[point] ?? null, this.columns[axis + 1]?.[point] ?? null];
      if (a === null || b === null) continue;
      const at = this.top(axis, a) * (1 - share) + this.top(axis + 1, b) * share;
      const far = Math.abs(at - y) + (this.store.meets[point] ? 0 : 6);
      if (far < least) [least, found] = [far, point];
    }
    return found;
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    const t = theme();
    const { meets, front } = this.store;
    const dense = Math.min(0.6, 4 / Math.sqrt(front.length) + 0.06);
    for (const level of [false, true]) {
      c.strokeStyle = level ? t.point : t.soft;
      c.globalAlpha = level ? dense : 0.07;
      c.lineWidth = 1;
      for (let point = 0; point < front.length; point++) {
        if ((meets[point] ?? false) === level) this.line(c, this.of(point));
      }
    }
    c.globalAlpha = 1;
    const room = Math.min(2 * this.left(0), this.left(1) - this.left(0)) - 10;
    this.measures.forEach((measure, axis) => {
      const x = Math.round(this.left(axis)) + 0.5;
      c.strokeStyle = t.soft;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, TOP);
      c.lineTo(x, this.height - 34);
      c.stroke();
      c.textAlign = "center";
      c.textBaseline = "middle";
      const [kind = "", of = ""] = words(measure, 16).split(/ (?=\()/);
      c.fillStyle = t.ink;
      c.font = STRONG;
      const lines = wrapped(c, kind, room);
      lines.forEach((line, i) => c.fillText(fit(c, line, room), x, 12 + 15 * (i + 2 - lines.length)));
      c.font = FONT;
      c.fillStyle = t.soft;
      c.fillText(fit(c, of, room), x, 42);
      const [low, high] = this.ranges[axis] ?? [0, 1];
      const best = direction(measure) === "large" ? high : low;
      const worst = direction(measure) === "large" ? low : high;
      c.fillText(`best ${readable(best)}`, x, TOP - 12);
      c.fillText(readable(worst), x, this.height - 20);
    });
  }

  protected override drawOver(c: CanvasRenderingContext2D): void {
    const t = theme();
    const { chosen, hovered } = this.store;
    c.strokeStyle = t.warm;
    c.lineWidth = 2;
    c.setLineDash([6, 4]);
    this.line(c, this.starts);
    c.setLineDash([]);
    c.strokeStyle = t.surface;
    c.lineWidth = 7;
    this.line(c, this.of(chosen));
    c.strokeStyle = t.accent;
    c.lineWidth = 3.5;
    this.line(c, this.of(chosen));
    const taken: [number, number, number, number][] = [];
    const last = this.measures.length - 1;
    const end = this.of(chosen)[last] ?? null;
    if (end !== null) {
      tag(c, shortName(chosen), this.left(last) - 4, this.top(last, end), t.accent, this.width, taken);
    }
    if (hovered !== null && hovered !== chosen) {
      c.strokeStyle = t.ink;
      c.lineWidth = 2;
      this.line(c, this.of(hovered));
      const first = this.of(hovered)[0] ?? null;
      if (first !== null) {
        tag(c, shortName(hovered), this.left(0) + 4, this.top(0, first), t.ink, this.width, taken);
      }
    }
  }
}

/** A text in one or two lines. */
function wrapped(c: CanvasRenderingContext2D, text: string, room: number): string[] {
  if (c.measureText(text).width <= room) return [text];
  const all = text.split(" ");
  let first = all.shift() ?? "";
  while (all.length > 0 && c.measureText(`${first} ${all[0]}`).width <= room) first += ` ${all.shift()}`;
  return all.length === 0 ? [first] : [first, all.join(" ")];
}

/** As much of a text as there is room for. */
function fit(c: CanvasRenderingContext2D, text: string, room: number): string {
  let shown = shorten(text, 60);
  while (shown.length > 4 && c.measureText(shown).width > room) shown = `${shown.slice(0, -2).trimEnd()}…`;
  return shown;
}
