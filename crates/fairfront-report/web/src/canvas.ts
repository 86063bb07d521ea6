// Common parts of all drawings: sharp canvases, theme colors, ticks, labels.

import { freshId, h, shorten } from "./dom.ts";
import { inTarget, readable } from "./number.ts";
import { type Box, placeLabel } from "./place.ts";

export interface Theme {
  ink: string;
  soft: string;
  rule: string;
  surface: string;
  point: string;
  accent: string;
  warm: string;
  /** Thresholds by group. */
  green: string;
  /** Scores of the user. */
  purple: string;
  isDark: boolean;
}

let current: Theme | null = null;

/** The current colors of the style sheet. */
export function theme(): Theme {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  current = {
    ink: read("--ink"),
    soft: read("--soft"),
    rule: read("--rule"),
    surface: read("--surface"),
    point: read("--point"),
    accent: read("--accent"),
    warm: read("--warm"),
    green: read("--green"),
    purple: read("--purple"),
    isDark: read("--is-dark") === "1",
  };
  return current;
}

const followers: (() => void)[] = [];

/** Registers a callback for changes of colors: another scheme, or print. */
export function onTheme(follower: () => void): void {
  followers.push(follower);
}

/** Watches for changes of colors. */
export function followTheme(): void {
  const again = () => {
    current = null;
    for (const follower of followers) follower();
  };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.matchMedia("print").addEventListener("change", again);
}

/** Two canvases on top of each other: all models below, the selected and the hovered model above. */
export abstract class Drawing {
  readonly element: HTMLElement;
  /** Takes the pointer and the focus. */
  readonly surface: HTMLElement;
  private readonly below: HTMLCanvasElement;
  private readonly above: HTMLCanvasElement;
  protected width = 0;
  protected height = 0;

  constructor(className: string) {
    this.below = h("canvas", { "aria-hidden": "true" });
    this.above = h("canvas", { "aria-hidden": "true" });
    this.surface = h("div", { class: "surface", id: freshId("drawing") }, this.below, this.above);
    this.element = h("div", { class: `drawing ${className}` }, this.surface);
    onTheme(() => this.draw());
    // Reading sizes while the page changes would force repeated layouts.
    const follow = () => {
      this.width = this.surface.clientWidth;
      this.height = this.surface.clientHeight;
      this.draw();
    };
    new ResizeObserver(follow).observe(this.surface);
  }

  /** Draws both canvases. */
  draw(): void {
    if (this.width === 0 || this.height === 0) return;
    const context = this.prepared(this.below);
    if (context) this.drawBase(context);
    this.drawTop();
  }

  /** Draws only the selected and the hovered model. */
  drawTop(): void {
    if (this.width === 0) return;
    const context = this.prepared(this.above);
    if (context) this.drawOver(context);
  }

  private prepared(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
    const scale = Math.max(window.devicePixelRatio || 1, 1);
    const [width, height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    if (!context) return null;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.font = FONT;
    context.lineJoin = "round";
    return context;
  }

  protected abstract drawBase(context: CanvasRenderingContext2D): void;
  protected abstract drawOver(context: CanvasRenderingContext2D): void;

  /** The position of the pointer, relative to the top left corner of the drawing. */
  protected place(event: PointerEvent | MouseEvent): [number, number] {
    const box = this.surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
export const STRONG = `600 ${FONT}`;

/** About `about` round numbers within a range. */
export function ticks(low: number, high: number, about: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(about, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((s) => s * power >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const found: number[] = [];
  for (let i = first; i * step <= high + step * 1e-9 && found.length < 50; i++) found.push(i * step + 0);
  return found;
}

/** The label of a tick, with as few digits as distinguish it from its neighbors. */
export function tickText(value: number, all: number[]): string {
  const step = all.length > 1 ? Math.abs((all[1] ?? 0) - (all[0] ?? 0)) : Math.abs(value);
  const size = Math.max(...all.map(Math.abs));
  if (step === 0 || size >= 1e6 || step < 1e-6) return readable(value);
  return inTarget(value, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
}

/** A range with padding on both sides. */
export function padded(low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const air = high > low ? (high - low) * 0.05 : Math.abs(high) * 0.05 || 0.5;
  return [low - air, high + air];
}

export function circle(c: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
}

export function diamond(c: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  c.beginPath();
  c.moveTo(x, y - r);
  c.lineTo(x + r, y);
  c.lineTo(x, y + r);
  c.lineTo(x - r, y);
  c.closePath();
}

// Cividis, whose order is the same for people with and without color vision deficiency.
const CIVIDIS = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
] as const;

/** The color of a share from 0 to 1, visible on the background of the report. */
export function gradient(share: number): string {
  const { isDark } = theme();
  const within = isDark ? 0.3 + 0.7 * share : 0.82 * share;
  const at = Math.min(Math.max(within, 0), 1) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const [a, b] = [CIVIDIS[low] ?? CIVIDIS[0], CIVIDIS[low + 1] ?? CIVIDIS[0]];
  const mixed = [0, 1, 2].map((i) => Math.round((a[i] ?? 0) + ((b[i] ?? 0) - (a[i] ?? 0)) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

/** The same colors as a background image for a legend. */
export function gradientImage(): string {
  const stops = Array.from({ length: 11 }, (_, i) => gradient(i / 10));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Shortens a string to the width `room`. */
export function fit(c: CanvasRenderingContext2D, text: string, room: number): string {
  let shown = shorten(text, 120);
  while (shown.length > 4 && c.measureText(shown).width > room) shown = `${shown.slice(0, -2).trimEnd()}…`;
  return shown;
}

const LINE = 16;

/** A short name next to a marker, inside `room`; returns its box, so that later labels can avoid it. */
export function tag(
  c: CanvasRenderingContext2D,
  text: string,
  [x, y]: readonly [number, number],
  color: string,
  room: Box,
  taken: readonly Box[] = [],
  crowd: readonly (readonly [number, number])[] = [],
): Box {
  c.font = STRONG;
  const box = placeLabel(x, y, { width: c.measureText(text).width, height: LINE }, room, taken, crowd);
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.lineWidth = 3;
  c.strokeStyle = theme().surface;
  c.strokeText(text, box[0], box[1] + LINE / 2);
  c.fillStyle = color;
  c.fillText(text, box[0], box[1] + LINE / 2);
  c.font = FONT;
  return box;
}

/**
 * A box of text next to a marker, inside `room`; the first of `lines` is the title. Each of them takes at most two
 * lines of the box.
 */
export function label(
  c: CanvasRenderingContext2D,
  lines: string[],
  [x, y]: readonly [number, number],
  room: Box,
  taken: readonly Box[] = [],
  crowd: readonly (readonly [number, number])[] = [],
): Box {
  const t = theme();
  const air = 7;
  const most = room[2] - room[0] - 2 * air;
  const shown = lines.flatMap((line, i) => {
    const font = i === 0 ? STRONG : FONT;
    c.font = font;
    const [first = "", ...rest] = wrapped(c, shorten(line, 120), most);
    return (rest.length === 0 ? [first] : [first, rest.join(" ")]).map((part) => {
      const text = fit(c, part, most);
      return { text, font, wide: c.measureText(text).width };
    });
  });
  const width = Math.max(...shown.map(({ wide }) => wide)) + 2 * air;
  const box = placeLabel(x, y, { width, height: shown.length * LINE + 8 }, room, taken, crowd);
  c.beginPath();
  c.roundRect(box[0], box[1], box[2] - box[0], box[3] - box[1], 5);
  c.fillStyle = t.surface;
  c.strokeStyle = t.soft;
  c.lineWidth = 1;
  c.fill();
  c.stroke();
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillStyle = t.ink;
  shown.forEach(({ text, font }, i) => {
    c.font = font;
    c.fillText(text, box[0] + air, box[1] + 4 + LINE * (i + 0.5));
  });
  c.font = FONT;
  return box;
}

/** Writes in the middle of a drawing why it is empty. */
export function drawReason(c: CanvasRenderingContext2D, text: string, room: Box): void {
  c.font = FONT;
  c.fillStyle = theme().soft;
  c.textAlign = "center";
  c.textBaseline = "middle";
  const lines = wrapped(c, text, room[2] - room[0] - 16);
  const top = (room[1] + room[3]) / 2 - ((lines.length - 1) * LINE) / 2;
  lines.forEach((line, i) => c.fillText(line, (room[0] + room[2]) / 2, top + i * LINE));
}

/** Breaks a string into lines; a word that is too long stays whole. */
export function wrapped(c: CanvasRenderingContext2D, text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && c.measureText(`${last} ${word}`).width <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
