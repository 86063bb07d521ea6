// The reliability curve: predicted probabilities against observed shares of positive labels.

import { circle, Drawing, drawReason, FONT, theme } from "./canvas.ts";
import type { Front } from "./front.ts";
import type { Store } from "./store.ts";

interface Bin {
  rows: number;
  predicted: number;
  observed: number;
}

/** The bins of a model; empty if the run has no such columns. */
export function binsOf(front: Front, model: number): Bin[] {
  const bins: Bin[] = [];
  for (let i = 1; i <= 99; i++) {
    const number = String(i).padStart(2, "0");
    const names = [`test.reliability.${number}`, `reliability.${number}`];
    const prefix = names.find((name) => front.values(`${name}.rows`) !== undefined);
    if (prefix === undefined) break;
    const [rows, predicted, observed] = ["rows", "predicted", "observed"].map((end) => front.at(`${prefix}.${end}`, model));
    if (rows && typeof predicted === "number" && typeof observed === "number") bins.push({ rows, predicted, observed });
  }
  return bins;
}

export class Reliability extends Drawing {
  constructor(private readonly store: Store) {
    super("reliability");
    this.surface.setAttribute("role", "img");
    store.on(["choice"], () => this.follow());
    this.follow();
  }

  private follow(): void {
    const bins = binsOf(this.store.front, this.store.chosen);
    const said = bins.map(
      ({ predicted, observed }) => `${Math.round(100 * predicted)}% predicted, ${Math.round(100 * observed)}% observed`,
    );
    this.surface.setAttribute("aria-label", `Reliability curve: ${said.join("; ")}`);
    this.draw();
  }

  protected override drawBase(c: CanvasRenderingContext2D): void {
    const t = theme();
    const [left, top, right, bottom] = [46, 30, this.width - 20, this.height - 40];
    const x = (v: number) => left + v * (right - left);
    const y = (v: number) => bottom - v * (bottom - top);
    c.font = FONT;
    c.lineWidth = 1;
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      c.strokeStyle = t.rule;
      c.beginPath();
      c.moveTo(x(tick), top);
      c.lineTo(x(tick), bottom);
      c.moveTo(left, y(tick));
      c.lineTo(right, y(tick));
      c.stroke();
      c.fillStyle = t.soft;
      c.textAlign = "center";
      c.textBaseline = "top";
      c.fillText(`${100 * tick}%`, x(tick), bottom + 6);
      c.textAlign = "right";
      c.textBaseline = "middle";
      c.fillText(`${100 * tick}%`, left - 6, y(tick));
    }
    c.textAlign = "right";
    c.textBaseline = "alphabetic";
    c.fillText("predicted probability →", right, this.height - 6);
    c.textAlign = "left";
    c.fillText("observed share of positive labels ↑", 4, 14);
    c.strokeStyle = t.soft;
    c.setLineDash([4, 4]);
    c.beginPath();
    c.moveTo(x(0), y(0));
    c.lineTo(x(1), y(1));
    c.stroke();
    c.setLineDash([]);
    const bins = binsOf(this.store.front, this.store.chosen);
    if (bins.length === 0) drawReason(c, "Nothing to show: this model has no reliability curve.", [left, top, right, bottom]);
    const most = Math.max(...bins.map((bin) => bin.rows), 1);
    c.strokeStyle = t.accent;
    c.fillStyle = t.accent;
    c.lineWidth = 1.5;
    c.beginPath();
    for (const { predicted, observed } of bins) c.lineTo(x(predicted), y(observed));
    c.stroke();
    for (const { rows, predicted, observed } of bins) {
      circle(c, x(predicted), y(observed), 2.5 + 3.5 * Math.sqrt(rows / most));
      c.fill();
    }
  }

  protected override drawOver(): void {
    // Nothing moves in this drawing.
  }
}
