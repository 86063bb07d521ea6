// The plot of the front with its controls and legend, and the views of all objectives.

import { gradientImage, onTheme } from "./canvas.ts";
import { amongOf, notCompared } from "./compared.ts";
import { freshId, h, section } from "./dom.ts";
import { extent } from "./front.ts";
import type { Split } from "./grammar.ts";
import { capital, columnName, columnOf, direction, isConstant, isCount, isOfClass, isOfGroup, judgedMeasures, type Measure, rowsName, shownMeasures, termOf, valueText, words } from "./label.ts";
import { familyItems, legend, overlayLegend } from "./legend.ts";
import { decides } from "./meaning.ts";
import { Parallel } from "./parallel.ts";
import { Scatter } from "./scatter.ts";
import type { Store } from "./store.ts";
import { rowsOf } from "./summary.ts";

/** All measures and objectives that an axis can show, in groups. */
function choices(store: Store): [string, Measure[]][] {
  const { front } = store;
  const judged = judgedMeasures(front);
  const all = front.measuresOn(front.split).filter((m) => !isCount(m) && !isConstant(m));
  const rest = all.filter((m) => !judged.includes(m));
  const objectives = front.objectives.map((name) => `objective.${name}`).filter((m) => !judged.includes(m));
  const ofGroup = (m: Measure) => isOfGroup(m, store.data.attributes);
  const groups: [string, Measure[]][] = [
    ["Measures that define the front", judged],
    ["Other measures", rest.filter((m) => !ofGroup(m) && !isOfClass(m))],
    ["Measures of single classes", rest.filter((m) => !ofGroup(m) && isOfClass(m))],
    ["Objectives, as minimized", objectives],
    [decides() ? "Rates of single groups" : "Measures of single groups", rest.filter(ofGroup)],
  ];
  return groups.filter(([, measures]) => measures.length > 0);
}

/** A note after a rate whose group is not compared in it. */
function markOf({ data }: Store, measure: Measure): string {
  const { name, attribute, group } = termOf(measure, data.attributes);
  const [of, which] = [attribute[0], group[0]];
  if (of === undefined || which === undefined) return "";
  return notCompared(data.run, of, which, amongOf(name)) === null ? "" : " (not compared)";
}

function axisSelect(store: Store, axis: "x" | "y", title: string): HTMLElement {
  const id = freshId("axis");
  const select = h("select", { id });
  for (const [group, measures] of choices(store)) {
    const options = measures.map((m) => h("option", { value: m }, `${capital(words(m, 32))}${markOf(store, m)}`));
    select.append(h("optgroup", { label: group }, ...options));
  }
  select.addEventListener("change", () => store.setView({ [axis]: select.value }));
  const follow = () => {
    select.value = store[axis];
  };
  store.on(["view"], follow);
  follow();
  return h("div", { class: "field" }, h("label", { for: id }, title), select);
}

const MEANING: Record<Split, string> = {
  train: "the models were trained on these rows",
  validation: "models are chosen on these rows",
  test: "held out: no model was trained or chosen on these rows",
};

/** The switch between training, validation and test rows. */
function rowsSwitch(store: Store): HTMLElement {
  const group = freshId("rows");
  const inputs = store.front.splits.map((split) => {
    const input = h("input", { type: "radio", name: group, value: split });
    input.addEventListener("change", () => store.setView({ split }));
    const title = `${rowsOf(store.data, split)} rows; ${MEANING[split]}`;
    return { split, input, label: h("label", { title }, input, h("span", {}, split)) };
  });
  const follow = () => {
    for (const { split, input } of inputs) input.checked = split === store.split;
  };
  store.on(["view"], follow);
  follow();
  return h(
    "fieldset",
    { class: "field rows" },
    h("legend", {}, "Rows"),
    h("div", { class: "segments" }, ...inputs.map(({ label }) => label)),
  );
}

/** Notes about axes on which no model differs measurably from the unmitigated model. */
function noiseNotes(store: Store): string[] {
  const { front, split } = store;
  const same = [...new Set([store.y, store.x])].filter((measure) => front.withinNoise(columnName(measure, split)));
  return same.map(
    (measure) =>
      `${capital(words(measure, 40))}: the whole range is within noise; on ${rowsName(split)} rows no model differs ` +
      "measurably from the unmitigated model.",
  );
}

/** The front on two selectable axes. */
export function mainPlot(store: Store): HTMLElement {
  const scatter = new Scatter(store, { x: () => store.x, y: () => store.y });
  scatter.surface.id = "front-plot";
  const note = h("p", { class: "note" });
  const follow = () => {
    const shown = `Shown: ${rowsOf(store.data, store.split)} ${rowsName(store.split)} rows; ${MEANING[store.split]}.`;
    const left = scatter.missing();
    const notes = [...(left === null ? [] : [left]), ...noiseNotes(store)];
    note.replaceChildren(shown, ...notes.map((text) => h("strong", {}, ` ${text}`)));
  };
  store.on(["view"], follow);
  follow();
  return h(
    "figure",
    { class: "front" },
    h(
      "div",
      { class: "toolbar" },
      axisSelect(store, "y", "Vertical axis"),
      axisSelect(store, "x", "Horizontal axis"),
      rowsSwitch(store),
    ),
    scatter.element,
    h("figcaption", {}, legend(store), ...overlayLegend(store), note),
  );
}

/** All objectives at once: pairs of them colored by the third, and parallel coordinates. */
export function otherViews(store: Store): HTMLElement | null {
  const measures = shownMeasures(store.front);
  if (measures.length < 3) return null;
  const element = section(
    "views",
    `All ${measures.length === 3 ? "three" : measures.length} objectives at once`,
    "All views are linked: hover over or select a model in one, and it is highlighted in the others.",
  );
  const parallel = h(
    "figure",
    { class: "lines" },
    new Parallel(store, measures).element,
    h("figcaption", {}, "Each line is one model; up is better on every axis. Dashed: the unmitigated model."),
  );
  const families = familyItems(store);
  if (families.length > 0) element.append(h("ul", { class: "legend note", "aria-label": "Families" }, ...families));
  const pairs = measures.length === 3 ? projections(store, measures) : [];
  element.append(h("div", { class: "views" }, ...pairs, parallel));
  return element;
}

/** Each pair of three objectives, colored by the one that it does not show. */
function projections(store: Store, [first = "", second = "", third = ""]: Measure[]): HTMLElement[] {
  const pairs: [Measure, Measure, Measure][] = [
    [second, first, third],
    [third, first, second],
    [second, third, first],
  ];
  return pairs.map(([x, y, color]) => {
    const scatter = new Scatter(store, { x: () => x, y: () => y, color: () => color, small: true });
    return h("figure", { class: "projection" }, scatter.element, h("figcaption", {}, colorKey(store, color)));
  });
}

/** The color key of a projection. */
function colorKey(store: Store, measure: Measure): HTMLElement {
  const bar = h("span", { class: "bar", "aria-hidden": "true" });
  const [low, high] = [h("span"), h("span")];
  const side = direction(measure) === "large" ? "higher is better" : "lower is better";
  const title = h("span", {}, h("strong", {}, `Color: ${words(measure, 20)}`), `, ${side}`);
  const element = h("div", { class: "colors" }, title, h("span", { class: "scale" }, low, bar, high));
  const draw = () => {
    const [least, most] = extent(columnOf(store.front, measure, store.split)?.values ?? []);
    low.textContent = least <= most ? valueText(measure, least) : "not defined";
    high.textContent = least <= most ? valueText(measure, most) : "";
    bar.hidden = least > most;
    bar.style.backgroundImage = gradientImage();
  };
  store.on(["view"], draw);
  onTheme(draw);
  draw();
  return element;
}
