// Positions of labels next to the markers that they describe.

/** Left, top, right and bottom, in pixels. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

export interface Size {
  width: number;
  height: number;
}

/** Pixels between a marker's center and its label: more than the radius of every marker. */
export const DISTANCE = 11;

function within(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high));
}

/** The area that two boxes share. */
export function overlap(a: Box, b: Box): number {
  const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  return wide > 0 && high > 0 ? wide * high : 0;
}

/**
 * The box of a label: inside `room`, never on the marker at `x`, `y`, and covering as little else as possible.
 * Boxes in `taken` (other labels and markers) weigh more than the points of `crowd`.
 *
 * Such a box always exists if the label is not wider than the room and not taller than half of it.
 */
export function placeLabel(
  x: number,
  y: number,
  { width, height }: Size,
  room: Box,
  taken: readonly Box[] = [],
  crowd: readonly (readonly [number, number])[] = [],
): Box {
  const [left, top, right, bottom] = room;
  const box = (l: number, t: number): Box => [l, t, l + width, t + height];
  const across = (l: number) => within(l, left, right - width);
  const down = (t: number) => within(t, top, bottom - height);
  const [after, before] = [x + DISTANCE, x - DISTANCE - width];
  const [above, below] = [y - DISTANCE - height, y + DISTANCE];
  const sides = [y - height / 2, y - height - 4, y + 4].flatMap((t) => [box(after, down(t)), box(before, down(t))]);
  const ends = [x - width / 2, x - 4, x - width + 4].flatMap((l) => [box(across(l), above), box(across(l), below)]);
  const places = [...sides, ...ends];
  const inside = places.filter((b) => b[0] >= left && b[1] >= top && b[2] <= right && b[3] <= bottom);
  const hides = (b: Box) => {
    const points = crowd.filter(([px, py]) => px > b[0] - 4 && px < b[2] + 4 && py > b[1] - 4 && py < b[3] + 4);
    return 10 * taken.reduce((sum, other) => sum + overlap(b, other), 0) + points.length;
  };
  let [found, least] = [inside[0] ?? box(across(after), down(below)), Infinity];
  for (const place of inside) {
    const hidden = hides(place);
    if (hidden < least) [found, least] = [place, hidden];
  }
  return found;
}
