// The legend of the plot of the front: markers, families, and overlays that can be switched off.

import { type Child, drawn, h, shorten } from "./dom.ts";
import { type Family, outline, plural } from "./family.ts";
import { columnName, type Measure, modelName, rowsName, valueText, words } from "./label.ts";
import { counted } from "./number.ts";
import { modelsBeyond, type Overlay, valuesOf } from "./overlay.ts";
import type { Store } from "./store.ts";
import { DASHES } from "./trail.ts";

/** The marker of a family. */
function familyKey(family: Family): SVGElement {
  const kind = family === "linear" ? "shape-linear" : "shape-learned";
  return drawn({ class: `shape ${kind}`, viewBox: "-6 -6 12 12", "aria-hidden": "true" }, { d: outline(family, 4.6) });
}

/** The line or the mark of a kind of overlay. */
function overlayKey(kind: Overlay["kind"]): SVGElement {
  const frame = { class: `shape shape-${kind}`, viewBox: "0 -6 26 12", "aria-hidden": "true" };
  if (kind === "score") return drawn(frame, { d: "M9-4l8 8m0-8l-8 8" });
  return drawn(frame, { d: "M0 0H26", "stroke-dasharray": DASHES[kind].join(" ") });
}

/** The families of the front with their markers, if the report distinguishes them. */
export function familyItems({ data }: Store): HTMLElement[] {
  const { counts, areShown } = data.families;
  if (!areShown) return [];
  return counts.map(([family]) => h("li", { class: "family" }, familyKey(family), plural(family)));
}

/** The legend of the current plot. */
export function legend(store: Store): HTMLElement {
  const { front } = store;
  const redrawn = front.values("test.probability_nondominated") !== undefined;
  const element = h("ul", { class: "legend" });
  const item = (kind: string, text: string) =>
    h("li", {}, h("span", { class: `key key-${kind}`, "aria-hidden": "true" }), text);
  const draw = () => {
    const banded = [store.x, store.y].some((m) => front.values(`${columnName(m, store.split)}.band_low`) !== undefined);
    element.replaceChildren(
      ...familyItems(store),
      item("own", "the selected model"),
      item("start", "the unmitigated model: trained without regard to fairness"),
      ...(store.knee === null ? [] : [item("knee", "the report opens here: the knee of the measurably fairer models")]),
      ...(redrawn
        ? [item("pale", "faded: dominated in more than half of the redrawn test samples")]
        : [item("pale", "faded: dominated in the two measures shown")]),
      ...(banded ? [item("band", "95% bands that hold for all models at once; bars: 95% intervals of the two compared models")] : []),
      ...(store.requirements.length > 0 ? [item("out", "does not meet your requirements")] : []),
    );
  };
  store.on(["choice", "view"], draw);
  draw();
  return element;
}

/** The text of an overlay in the legend. */
function textOf(overlay: Overlay, axes: Measure[]): Child[] {
  const label = shorten(overlay.label, 60);
  if (overlay.kind === "bound") return [h("strong", {}, "estimate"), `: ${label}`];
  if (overlay.kind === "by-group") {
    return ["thresholds by group: uses the sensitive attribute to decide (not selectable)"];
  }
  const named = overlay.points.slice(0, 8).map(({ name }, i) => {
    const values = axes.map((axis) => `${words(axis, 20)} ${valueText(axis, valuesOf(overlay, axis)?.[i]?.value ?? null)}`);
    return `${shorten(name ?? overlay.label, 40)}: ${values.join(", ")}`;
  });
  return [named.join("; ")];
}

/** At most this many models are named in a sentence. */
const MOST_NAMED = 3;

/** `model 3 lies`, `models 3, 4 and 7 lie`, `12 models lie` */
function whichLie(models: number[]): string {
  const [first = 0] = models;
  if (models.length === 1) return `${modelName(first)} lies`;
  if (models.length > MOST_NAMED) return `${counted(models.length, "model")} lie`;
  const names = models.map((model) => modelName(model).replace("model ", ""));
  return `models ${names.slice(0, -1).join(", ")} and ${names[names.length - 1] ?? ""} lie`;
}

/** The sentences about a bound: its meaning, and whether a model of the front beats it. */
export function boundSentences(store: Store, bound: Overlay): string[] {
  const { front, split } = store;
  const hasBand = bound.points.some(({ low }) => low !== undefined);
  const meaning = "If the probabilities are right, no model on these columns does better";
  const sentences = [hasBand ? `${meaning}; the band covers sampling only.` : `${meaning}.`];
  const beyond = modelsBeyond(front, bound, split, "line");
  if (beyond.length === 0) return sentences;
  const far = modelsBeyond(front, bound, split, "band");
  const rows = `on ${rowsName(bound.split === undefined ? split : (bound.split as typeof split))} rows`;
  const sentence =
    far.length > 0
      ? `${whichLie(far)} beyond the estimate ${rows}, which shows that the estimated probabilities are not exactly right.`
      : `${whichLie(beyond)} beyond the estimate ${rows}, but within the bands, so sampling can explain this.`;
  return [...sentences, sentence.charAt(0).toUpperCase() + sentence.slice(1)];
}

/** The overlays of the plot, each with a switch; empty if the run has none. */
export function overlayLegend(store: Store): HTMLElement[] {
  const overlays = store.data.run.overlays ?? [];
  if (overlays.length === 0) return [];
  const notes = h("p", { class: "note bound-note" });
  const items = overlays.map((overlay) => {
    const box = h("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => store.showOverlay(overlay, box.checked));
    const text = h("span");
    return { overlay, text, box, item: h("li", {}, h("label", {}, box, overlayKey(overlay.kind), text)) };
  });
  const list = h("ul", { class: "legend overlays", "aria-label": "Shown next to the models" }, ...items.map(({ item }) => item));
  // The boxes stay the same elements, so that they keep the focus.
  const draw = () => {
    const axes = [store.y, store.x];
    const shown = store.overlaysOf(axes);
    for (const { overlay, item, text, box } of items) {
      item.hidden = !shown.includes(overlay);
      box.checked = !store.hiddenOverlays.has(overlay);
      text.replaceChildren(...textOf(overlay, axes).filter((child) => child !== null));
    }
    list.hidden = shown.length === 0;
    const bounds = shown.filter((overlay) => overlay.kind === "bound" && !store.hiddenOverlays.has(overlay));
    notes.hidden = bounds.length === 0;
    notes.textContent = bounds.flatMap((bound) => boundSentences(store, bound)).join(" ");
  };
  store.on(["view"], draw);
  draw();
  return [list, notes];
}
