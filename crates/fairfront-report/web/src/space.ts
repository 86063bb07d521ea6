// Three measures at once, in a view that turns.

import { circle, diamond, Drawing, gradient, STRONG, tag, theme } from "./canvas.ts";
import { shorten } from "./dom.ts";
import { extent, UNMITIGATED, type Value } from "./front.ts";
import { capital, columnName, columnOf, direction, type Measure, modelName, shortName, words } from "./label.ts";
import { readable } from "./number.ts";
import type { Store } from "./store.ts";

type Three = [number, number, number];

const START = { turn: -0.65, tilt: 0.42 };

export class Space extends Drawing {
  private turn = START.turn;
  private tilt = START.tilt;
  private columns: Value[][] = [];
  private ranges: [number, number][] = [];
  private drag: { x: number; y: number; moved: boolean } | null = null;

  constructor(
    private readonly store: Store,
    private readonly measures: readonly [Measure, Measure, Measure],
  ) {
    super("space");
    const surface = this.surface;
    surface.tabIndex = 0;
    surface.setAttribute("role", "application");
    surface.setAttribute("aria-roledescription", "three-dimensional view");
    surface.addEventListener("pointerdown", (e) => {
      this.drag = { x: e.clientX, y: e.clientY, moved: false };
      surface.setPointerCapture(e.pointerId);
    });
    surface.addEventListener("pointermove", (e) => this.onMove(e));
    surface.addEventListener("pointerup", (e) => {
      const clicked = this.drag !== null && !this.drag.moved;
      this.drag = null;
      const point = clicked ? this.nearest(...this.place(e)) : null;
      if (point !== null) store.pick(point);
    });
    surface.addEventListener("pointercancel", () => {
      this.drag = null;
    });
    surface.addEventListener("pointerleave", () => store.hover(null));
    surface.addEventListener("keydown", (e) => this.onKey(e));
    store.on(["view"], () => {
      this.measure();
      this.draw();
    });
    store.on(["choice"], () => {
      this.draw();
      this.describe();
    });
    store.on(["hover"], () => this.drawTop());
    this.measure();
    this.describe();
  }

  reset(): void {
    this.look(START.turn, START.tilt);
  }

  private look(turn: number, tilt: number): void {
    const start = performance.now();
    this.turn = turn;
    this.tilt = Math.min(Math.max(tilt, -Math.PI / 2), Math.PI / 2);
    this.surface.dataset.turn = this.turn.toFixed(3);
    this.draw();
    this.surface.dataset.ms = (performance.now() - start).toFixed(1);
  }

  private describe(): void {
    const all = this.measures.map((measure) => words(measure)).join(", ");
    const own = this.measures.map((measure, i) => {
      const value = this.valuesOf(this.store.chosen)[i] ?? null;
      return `${words(measure)} ${value === null ? "not defined" : readable(value)}`;
    });
    this.surface.setAttribute(
      "aria-label",
      `All models by ${all}. Arrow keys turn the view. ${capital(modelName(this.store.chosen))}: ${own.join(", ")}`,
    );
  }

  private measure(): void {
    const { front, split } = this.store;
    const columns = this.measures.map((measure) => columnOf(front, measure, split));
    this.columns = columns.map((c) => c?.values ?? []);
    this.ranges = columns.map((c, i) => {
      const start = front.unmitigated.get(c?.name ?? "") ?? null;
      return extent([...(this.columns[i] ?? []), start]);
    });
  }

  private onMove(event: PointerEvent): void {
    if (!this.drag) {
      this.store.hover(this.nearest(...this.place(event)));
      return;
    }
    const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
    if (!this.drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    this.drag = { x: event.clientX, y: event.clientY, moved: true };
    this.look(this.turn + dx * 0.01, this.tilt + dy * 0.01);
  }

  private onKey(event: KeyboardEvent): void {
    const by: Record<string, [number, number]> = {
      ArrowLeft: [-0.1, 0],
      ArrowRight: [0.1, 0],
      ArrowUp: [0, -0.1],
      ArrowDown: [0, 0.1],
    };
    const step = by[event.key];
    if (event.key === "Home") this.reset();
    else if (step) this.look(this.turn + step[0], this.tilt + step[1]);
    else return;
    event.preventDefault();
  }

  /** From values to −1 … 1. */
  private inBox(values: Value[]): Three | null {
    const all = values.map((v, i) => {
      const [low, high] = this.ranges[i] ?? [0, 1];
      return v === null ? null : high > low ? (2 * (v - low)) / (high - low) - 1 : 0;
    });
    return all.includes(null) ? null : (all as Three);
  }

  /** From the box to the page: x and y in pixels, the larger the third the nearer. */
  private project([x, y, z]: Three): Three {
    // The second measure goes upwards.
    const [ct, st, cp, sp] = [
      Math.cos(this.turn),
      Math.sin(this.turn),
      Math.cos(this.tilt),
      Math.sin(this.tilt),
    ];
    const [rx, rz] = [x * ct + z * st, -x * st + z * ct];
    const [ry, depth] = [y * cp - rz * sp, y * sp + rz * cp];
    const eye = 6 / (6 - depth);
    const unit = Math.min(this.width, this.height) * 0.285;
    return [this.width / 2 + rx * unit * eye, this.height / 2 - ry * unit * eye, depth];
  }

  private at(point: number): Three | null {
    const box = this.inBox(this.valuesOf(point));
    return box && this.project(box);
  }

  /** The values of a model, which may be the unmitigated one. */
  private valuesOf(point: number): Value[] {
    if (point !== UNMITIGATED) return this.columns.map((c) => c[point] ?? null);
    const { front, split } = this.store;
    return this.measures.map((measure) => front.at(columnName(measure, split), UNMITIGATED));
  }

  private nearest(x: number, y: number): number | null {
    let found: number | null = null;
    let least = 18 * 18;
    for (let point = 0; point < this.store.front.length; point++) {
      const place = this.at(point);
      if (!place) continue;
      const far = (place[0] - x) ** 2 + (place[1] - y) ** 2 - place[2];
      if (far < least) [least, found] = [far, point];
    }
    return found;
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    this.drawBox(c);
    const t = theme();
    const { meets, front } = this.store;
    const places = Array.from({ length: front.length }, (_, point) => ({ point, place: this.at(point) }));
    places.sort((a, b) => (a.place?.[2] ?? 0) - (b.place?.[2] ?? 0));
    const by = this.columns[1] ?? [];
    const [low, high] = extent(by);
    const size = front.length > 400 ? 2.6 : 3.4;
    for (const { point, place } of places) {
      if (!place) continue;
      const near = (place[2] + 1.8) / 3.6;
      const value = by[point] ?? low;
      circle(c, place[0], place[1], size * (0.75 + 0.5 * near));
      c.globalAlpha = meets[point] ? 0.55 + 0.45 * near : 0.18;
      c.fillStyle = meets[point] ? gradient(high > low ? (value - low) / (high - low) : 0.5) : t.soft;
      c.fill();
    }
    c.globalAlpha = 1;
  }

  private drawBox(c: CanvasRenderingContext2D): void {
    const t = theme();
    const line = (a: Three, b: Three) => {
      const [p, q] = [this.project(a), this.project(b)];
      c.beginPath();
      c.moveTo(p[0], p[1]);
      c.lineTo(q[0], q[1]);
      c.stroke();
    };
    c.lineWidth = 1;
    c.strokeStyle = t.rule;
    for (const a of [-1, 1]) {
      for (const b of [-1, 1]) {
        line([-1, a, b], [1, a, b]);
        line([a, -1, b], [a, 1, b]);
        line([a, b, -1], [a, b, 1]);
      }
    }
    // Names at the ends of the three edges that meet in the corner of least values.
    c.strokeStyle = t.soft;
    c.lineWidth = 1.5;
    const ends: [Three, number][] = [
      [[1, -1, -1], 0],
      [[-1, 1, -1], 1],
      [[-1, -1, 1], 2],
    ];
    const taken: [number, number, number][] = [];
    for (const [end, axis] of ends) {
      line([-1, -1, -1], end);
      const away = end.map((v) => (v === 1 ? 1.14 : v)) as Three;
      const [x, y] = this.project(away);
      const measure = this.measures[axis] ?? "";
      const side = direction(measure) === "large" ? "higher is better" : "lower is better";
      const name = shorten(words(measure, 16), 40);
      c.font = STRONG;
      c.textBaseline = "middle";
      c.textAlign = "left";
      const wide = c.measureText(name).width;
      const left = Math.min(Math.max(x - wide / 2, 4), Math.max(this.width - wide - 4, 4));
      let top = Math.min(Math.max(y, 10), this.height - 24);
      // Names that would lie on each other make room.
      for (const [l, r, other] of taken) {
        if (left < r && left + wide > l && Math.abs(top - other) < 32) top = other < 40 ? other + 32 : other - 32;
      }
      taken.push([left, left + wide, top]);
      c.fillStyle = t.ink;
      c.fillText(name, left, top);
      c.font = STRONG.replace("600 ", "");
      c.fillStyle = t.soft;
      c.fillText(side, left, top + 15);
    }
  }

  protected override drawOver(c: CanvasRenderingContext2D): void {
    const t = theme();
    const { chosen, hovered, knee } = this.store;
    const taken: [number, number, number, number][] = [];
    const start = this.at(UNMITIGATED);
    if (start) {
      diamond(c, start[0], start[1], 6.5);
      c.fillStyle = t.warm;
      c.strokeStyle = t.surface;
      c.lineWidth = 2;
      c.fill();
      c.stroke();
    }
    const bend = knee === null ? null : this.at(knee);
    if (bend) {
      circle(c, bend[0], bend[1], 8);
      c.lineWidth = 1.75;
      c.strokeStyle = t.ink;
      c.stroke();
    }
    const own = this.at(chosen);
    if (own) {
      circle(c, own[0], own[1], 6.5);
      c.fillStyle = t.accent;
      c.strokeStyle = t.surface;
      c.lineWidth = 2;
      c.fill();
      c.stroke();
      tag(c, shortName(chosen), own[0], own[1], t.accent, this.width, taken);
    }
    const over = hovered === null || hovered === chosen ? null : this.at(hovered);
    if (over && hovered !== null) {
      circle(c, over[0], over[1], 6.5);
      c.lineWidth = 2;
      c.strokeStyle = t.accent;
      c.stroke();
      tag(c, shortName(hovered), over[0], over[1], t.ink, this.width, taken);
    }
  }
}
