// The knee of a front: the model farthest below the plane through its extremes. Here, a point is the values of a model.

/** Positions of the nondominated points, increasing; of equal points, only the first. */
export function nondominated(points: number[][]): number[] {
  const order = points.map((_, i) => i);
  order.sort((a, b) => lexicographic(points[a] ?? [], points[b] ?? []) || a - b);
  // In this order no later point dominates an earlier one.
  const kept: number[] = [];
  if (points[0]?.length === 2) {
    let lowest = Infinity;
    for (const i of order) {
      const second = points[i]?.[1] ?? 0;
      if (second < lowest || kept.length === 0) kept.push(i);
      lowest = Math.min(lowest, second);
    }
  } else {
    for (const i of order) if (!kept.some((k) => isAsGood(points[k] ?? [], points[i] ?? []))) kept.push(i);
  }
  return kept.sort((a, b) => a - b);
}

/** Whether a point is at least as good as another in every value. */
function isAsGood(point: number[], other: number[]): boolean {
  for (let axis = 0; axis < other.length; axis++) {
    if ((point[axis] as number) > (other[axis] as number)) return false;
  }
  return true;
}

function lexicographic(a: number[], b: number[]): number {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/** Position of the knee; `null` if no point has finite values. Of equally distant points, the first. */
export function knee(points: number[][]): number | null {
  const front = nondominated(points).filter((i) => (points[i] ?? []).every(Number.isFinite));
  const own = front.map((i) => points[i] ?? []);
  const m = points[0]?.length ?? 0;
  const ranges = Array.from({ length: m }, (_, axis) => {
    const values = own.map((p) => p[axis] ?? 0);
    return [Math.min(...values), Math.max(...values)] as const;
  });
  const within = own.map((p) =>
    ranges.map(([low, high], axis) => {
      // Halves, so that no range overflows.
      const width = high / 2 - low / 2;
      return width > 0 ? ((p[axis] ?? 0) / 2 - low / 2) / width : 0;
    }),
  );
  const plane = (front.length > 2 ? normal(within, m) : null) ?? new Array<number>(m).fill(1);
  let best: { at: number; height: number } | null = null;
  within.forEach((p, i) => {
    const height = p.reduce((sum, v, axis) => sum + v * (plane[axis] ?? 0), 0);
    if (best === null || height < best.height) best = { at: front[i] ?? 0, height };
  });
  return (best as { at: number } | null)?.at ?? null;
}

/** The normal of the plane n·v = 1 through the extremes, if all of its components are positive. */
function normal(points: number[][], m: number): number[] | null {
  const rows: number[][] = [];
  for (let axis = 0; axis < m; axis++) {
    let least: number[] | null = null;
    for (const p of points) {
      if (least === null || (p[axis] ?? 0) < (least[axis] ?? 0)) least = p;
    }
    if (least === null) return null;
    rows.push([...least, 1]);
  }
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  // Elimination with pivoting; values are at most 1, and pivots below 1e-9 count as 0.
  for (let column = 0; column < m; column++) {
    let pivot = column;
    for (let row = column; row < m; row++) {
      if (Math.abs(at(row, column)) >= Math.abs(at(pivot, column))) pivot = row;
    }
    [rows[column], rows[pivot]] = [rows[pivot] ?? [], rows[column] ?? []];
    const top = [...(rows[column] ?? [])];
    if (Math.abs(top[column] ?? 0) < 1e-9) return null;
    for (let row = 0; row < m; row++) {
      if (row === column) continue;
      const factor = at(row, column) / (top[column] ?? 1);
      rows[row] = (rows[row] ?? []).map((v, i) => v - factor * (top[i] ?? 0));
    }
  }
  const found = Array.from({ length: m }, (_, i) => at(i, m) / at(i, i));
  return found.every((n) => n > 0) ? found : null;
}
