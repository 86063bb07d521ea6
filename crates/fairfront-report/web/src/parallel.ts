// Parallel coordinates: one line per model, with up as the better direction on every axis.

import { Drawing, fit, FONT, STRONG, tag, theme, wrapped } from "./canvas.ts";
import { shape } from "./family.ts";
import { extent, UNMITIGATED, type Value } from "./front.ts";
import { columnOf, direction, type Measure, shortName, valueText, wordParts, words } from "./label.ts";
import type { Box } from "./place.ts";
import type { Store } from "./store.ts";

/** Pixels from one line of an axis name to the next. */
const LINE = 15;

export class Parallel extends Drawing {
  private columns: Value[][] = [];
  private starts: Value[] = [];
  private ranges: [number, number][] = [];
  /** The top of the axes, below their names. */
  private start = 74;

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
      `All models as lines over the axes ${all}; up is better. The table of all models has the same numbers`,
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
    const steps = Math.max(this.measures.length - 1, 1);
    return side + (axis / steps) * (this.width - 2 * side);
  }

  private top(axis: number, value: number): number {
    const [low, high] = this.ranges[axis] ?? [0, 1];
    const share = high > low ? (value - low) / (high - low) : 0.5;
    const up = direction(this.measures[axis] ?? "") === "large" ? share : 1 - share;
    return this.height - 34 - up * (this.height - 34 - this.start);
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

  /** Draws the marker of a model's family at every axis. */
  private markers(c: CanvasRenderingContext2D, point: number, radius: number): void {
    const { families } = this.store.data;
    this.of(point).forEach((value, axis) => {
      if (value === null) return;
      shape(c, families.of(point), this.left(axis), this.top(axis, value), radius);
      c.fill();
    });
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
    const { meets, front, data } = this.store;
    const { families } = data;
    const room = Math.min(2 * this.left(0), this.left(1) - this.left(0)) - 10;
    const titles = this.measures.map((measure) => {
      const [kind, of] = wordParts(measure, 16);
      c.font = STRONG;
      return { lines: wrapped(c, kind, room), of };
    });
    const most = Math.max(...titles.map(({ lines }) => lines.length));
    this.start = 44 + LINE * most;
    const dense = Math.min(0.6, 4 / Math.sqrt(front.length) + 0.06);
    for (const meeting of [false, true]) {
      c.strokeStyle = meeting ? t.point : t.soft;
      c.globalAlpha = meeting ? dense : 0.07;
      c.lineWidth = 1;
      for (let point = 0; point < front.length; point++) {
        if ((meets[point] ?? false) !== meeting) continue;
        this.line(c, this.of(point));
        if (!families.areShown) continue;
        c.fillStyle = !meeting ? t.soft : families.of(point) === "linear" ? t.point : t.green;
        this.markers(c, point, 3);
      }
    }
    c.globalAlpha = 1;
    this.measures.forEach((measure, axis) => {
      const x = Math.round(this.left(axis)) + 0.5;
      c.strokeStyle = t.soft;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, this.start);
      c.lineTo(x, this.height - 34);
      c.stroke();
      c.textAlign = "center";
      c.textBaseline = "middle";
      const { lines, of } = titles[axis] ?? { lines: [], of: "" };
      c.fillStyle = t.ink;
      c.font = STRONG;
      lines.forEach((line, i) => c.fillText(fit(c, line, room), x, 12 + LINE * (i + most - lines.length)));
      c.font = FONT;
      c.fillStyle = t.soft;
      c.fillText(fit(c, of, room), x, 12 + LINE * most);
      const [low, high] = this.ranges[axis] ?? [0, 1];
      if (low > high) {
        c.fillText("not defined", x, this.start - 12);
        return;
      }
      const best = direction(measure) === "large" ? high : low;
      const worst = direction(measure) === "large" ? low : high;
      c.fillText(`best ${valueText(measure, best)}`, x, this.start - 12);
      c.fillText(valueText(measure, worst), x, this.height - 20);
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
    c.fillStyle = t.accent;
    if (this.store.data.families.areShown) this.markers(c, chosen, 5.5);
    const taken: Box[] = [];
    const room: Box = [2, 2, this.width - 2, this.height - 2];
    const last = this.measures.length - 1;
    const end = this.of(chosen)[last] ?? null;
    if (end !== null) {
      taken.push(tag(c, shortName(chosen), [this.left(last) - 4, this.top(last, end)], t.accent, room));
    }
    if (hovered !== null && hovered !== chosen) {
      c.strokeStyle = t.ink;
      c.lineWidth = 2;
      this.line(c, this.of(hovered));
      const first = this.of(hovered)[0] ?? null;
      if (first !== null) {
        tag(c, shortName(hovered), [this.left(0) + 4, this.top(0, first)], t.ink, room, taken);
      }
    }
  }
}
