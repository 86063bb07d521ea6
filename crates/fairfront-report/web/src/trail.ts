// How plots draw overlays: lines with bands, and named marks.

import { theme } from "./canvas.ts";
import { shorten } from "./dom.ts";
import type { Value } from "./front.ts";
import type { Measure } from "./label.ts";
import { type Banded, endOf, type Overlay, valuesOf } from "./overlay.ts";
import type { Store } from "./store.ts";

type Place = [x: number, y: number];

/** An overlay on two axes. */
export interface Trail {
  overlay: Overlay;
  points: { x: Banded; y: Banded; name: string | null }[];
}

/** The overlays that a plot of these measures shows. */
export function trailsOf(store: Store, x: Measure, y: Measure): Trail[] {
  const shown = store.overlaysOf([x, y]).filter((overlay) => !store.hiddenOverlays.has(overlay));
  return shown.map((overlay) => {
    const [xs, ys] = [valuesOf(overlay, x) ?? [], valuesOf(overlay, y) ?? []];
    const absent: Banded = { value: null, low: null, high: null };
    return {
      overlay,
      points: overlay.points.map(({ name }, i) => ({ x: xs[i] ?? absent, y: ys[i] ?? absent, name: name ?? null })),
    };
  });
}

/** The values along an axis: of marks, which a plot always shows, or of lines, which it may cut. */
export function valuesAlong(trails: Trail[], axis: "x" | "y", of: "marks" | "lines"): Value[] {
  const wanted = trails.filter(({ overlay }) => (overlay.kind === "score") === (of === "marks"));
  return wanted.flatMap(({ points }) => points.map((point) => point[axis].value));
}

/** The color of a kind of overlay. */
export function colorOf(kind: Overlay["kind"]): string {
  const t = theme();
  return { bound: t.soft, "by-group": t.purple, score: t.ink }[kind];
}

/** The dashes of a kind of overlay, in pixels. */
export const DASHES: Record<Overlay["kind"], number[]> = { bound: [7, 5], "by-group": [2, 3], score: [] };

/** Draws the band of an overlay between its better and its worse side. */
export function drawBand(
  c: CanvasRenderingContext2D,
  { overlay, points }: Trail,
  [x, y]: [Measure, Measure],
  place: (x: number, y: number) => Place,
): void {
  const hasBand = points.some((point) => point.x.low !== null || point.y.low !== null);
  if (!hasBand || overlay.kind === "score") return;
  const side = (which: "better" | "worse") =>
    points.flatMap((point) => {
      const [across, up] = [endOf(point.x, x, which), endOf(point.y, y, which)];
      return across === null || up === null ? [] : [place(across, up)];
    });
  c.beginPath();
  for (const at of [...side("better"), ...side("worse").reverse()]) c.lineTo(...at);
  c.closePath();
  c.fillStyle = colorOf(overlay.kind);
  c.globalAlpha = 0.13;
  c.fill();
  c.globalAlpha = 1;
}

/** Draws the line or the marks of an overlay; returns the positions of its points. */
export function drawTrail(
  c: CanvasRenderingContext2D,
  trail: Trail,
  place: (x: number, y: number) => Place,
  small: boolean,
): Place[] {
  const { kind } = trail.overlay;
  const places = placesOf(trail, place);
  c.strokeStyle = colorOf(kind);
  c.lineWidth = small ? 1.5 : 2;
  if (kind === "score") {
    for (const at of places) drawMark(c, at, small ? 4 : 5);
    return places;
  }
  c.setLineDash(DASHES[kind]);
  c.beginPath();
  for (const at of places) c.lineTo(...at);
  c.stroke();
  c.setLineDash([]);
  return places;
}

/** The positions of the points that have both values. */
export function placesOf({ points }: Trail, place: (x: number, y: number) => Place): Place[] {
  return points.flatMap(({ x, y }) => (x.value === null || y.value === null ? [] : [place(x.value, y.value)]));
}

/** A cross with a rim that separates it from the models below. */
function drawMark(c: CanvasRenderingContext2D, [x, y]: Place, r: number): void {
  const t = theme();
  for (const [color, width] of [[t.surface, 5.5], [colorOf("score"), 2.5]] as const) {
    c.strokeStyle = color;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x - r, y + r);
    c.lineTo(x + r, y - r);
    c.stroke();
  }
}

/** The names next to the points of an overlay. */
export function tagsOf(trail: Trail, place: (x: number, y: number) => Place): { text: string; at: Place }[] {
  const { kind, label } = trail.overlay;
  if (kind === "score") {
    const named = trail.points.filter(({ x, y }) => x.value !== null && y.value !== null);
    return placesOf(trail, place).map((at, i) => ({ text: shorten(named[i]?.name ?? label, 24), at }));
  }
  const places = placesOf(trail, place);
  const at = places[Math.floor(places.length / 2)];
  return at === undefined ? [] : [{ text: kind === "bound" ? "estimate" : "by group", at }];
}
