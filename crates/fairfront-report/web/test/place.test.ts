import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, overlap, placeLabel } from "../src/place.ts";

const room: Box = [60, 40, 560, 380];

function isInside([left, top, right, bottom]: Box): boolean {
  return left >= room[0] && top >= room[1] && right <= room[2] && bottom <= room[3];
}

test("a label is inside the plot and never on its marker", () => {
  const sizes = [
    { width: 80, height: 16 },
    { width: 280, height: 56 },
    { width: room[2] - room[0], height: 150 },
  ];
  for (const size of sizes) {
    for (let x = room[0]; x <= room[2]; x += 20) {
      for (let y = room[1]; y <= room[3]; y += 17) {
        const box = placeLabel(x, y, size, room);
        assert.ok(isInside(box), `${JSON.stringify(size)} at ${x}, ${y}: ${box.join(" ")}`);
        assert.equal(overlap(box, [x - 8, y - 8, x + 8, y + 8]), 0, `on its marker at ${x}, ${y}`);
      }
    }
  }
});

test("a label avoids other labels, then points", () => {
  const size = { width: 80, height: 16 };
  const free = placeLabel(300, 200, size, room);
  assert.ok(free[0] > 300, "to the right if there is room");
  const second = placeLabel(300, 200, size, room, [free]);
  assert.equal(overlap(second, free), 0);
  const crowd = [[330, 200], [340, 200], [350, 200]] as const;
  const third = placeLabel(300, 200, size, room, [], crowd);
  assert.ok(crowd.every(([x, y]) => x < third[0] - 4 || x > third[2] + 4 || y < third[1] - 4 || y > third[3] + 4));
});

test("a label that is too large still has a position", () => {
  const box = placeLabel(100, 100, { width: 900, height: 900 }, room);
  assert.ok(box.every(Number.isFinite));
});
