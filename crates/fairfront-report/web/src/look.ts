// The section about learners: their predictions, quality, and columns.

import type { LearnerFacts } from "./data.ts";
import { h, name, scrolling, section, shorten } from "./dom.ts";
import { decides } from "./meaning.ts";
import { counted, fixed, grouped, readable } from "./number.ts";
import type { Store } from "./store.ts";

/** The number of columns that a list shows at first. */
const FEW = 10;

type Input = LearnerFacts["inputs"][number];

/** The columns of a learner, the most important first. */
export function byImportance(inputs: readonly Input[]): Input[] {
  const order = inputs.map((input, i) => ({ input, i }));
  order.sort((a, b) => (b.input.gain ?? 0) - (a.input.gain ?? 0) || a.i - b.i);
  return order.map(({ input }) => input);
}

/** How good the probabilities are, in words. */
export function qualityText({ log_loss: loss, auc }: LearnerFacts): string {
  const said = [
    ...(typeof loss === "number" ? [`log loss ${fixed(loss, 4)}`] : []),
    ...(typeof auc === "number" ? [`AUC ${fixed(auc, 3)}`] : []),
  ];
  return said.length === 0 ? "not known" : `${said.join(", ")} (out of fold)`;
}

/** The columns as bars. */
function columns(learner: LearnerFacts, showAll: boolean): HTMLElement {
  const inputs = byImportance(learner.inputs);
  const hasPermutation = inputs.some(({ permutation }) => typeof permutation === "number");
  const most = Math.max(...inputs.map(({ gain }) => gain ?? 0), 1e-300);
  const body = h("tbody");
  for (const { name: column, gain, permutation } of showAll ? inputs : inputs.slice(0, FEW)) {
    const fill = h("span", { class: "fill" });
    fill.style.width = `${((100 * (gain ?? 0)) / most).toFixed(2)}%`;
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name(column, 36)),
        h("td", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track" }, fill)),
        h("td", { class: "number" }, gain === null ? "–" : `${fixed(100 * gain, 1)}%`),
        hasPermutation
          ? h("td", { class: "number soft" }, typeof permutation === "number" ? readable(permutation) : "–")
          : null,
      ),
    );
  }
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "column"),
    h("td"),
    h("th", { scope: "col", title: "The column's share of the total gain of all splits" }, "share of gain"),
    hasPermutation
      ? h("th", { scope: "col", title: "How much the log loss rises if the values of the column are shuffled" }, "rise if shuffled")
      : null,
  );
  const caption = h("caption", { class: "hidden" }, `Columns by their share of the gain: ${shorten(learner.predicts, 80)}`);
  return h("table", { class: "bars coefficients gains" }, caption, h("thead", {}, head), body);
}

/** One learner: facts, and its columns. */
function card(learner: LearnerFacts): HTMLElement {
  const facts: [string, string][] = [
    ["Kind", learner.trees > 0 ? `${learner.kind}, ${counted(learner.trees, "tree")}` : learner.kind],
    ["Classes", shorten(learner.classes.map((one) => shorten(one, 40)).join(", "), 200)],
    ["Training rows", grouped(learner.rows)],
    ["Quality", qualityText(learner)],
  ];
  const list = h("dl", { class: "facts" }, ...facts.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))));
  const table = h("div");
  const more = h("button", { type: "button", class: "link" });
  more.hidden = learner.inputs.length <= FEW;
  let showAll = false;
  const draw = () => {
    table.replaceChildren(scrolling(columns(learner, showAll), `Columns: ${shorten(learner.predicts, 60)}`));
    more.textContent = showAll ? `show only the ${FEW} most important` : `show all ${counted(learner.inputs.length, "column")}`;
  };
  more.addEventListener("click", () => {
    showAll = !showAll;
    draw();
  });
  draw();
  return h(
    "article",
    { class: "learner", "aria-label": `Learner of ${shorten(learner.predicts, 60)}` },
    h("h3", {}, "Predicts ", name(learner.predicts, 60)),
    list,
    ...(learner.inputs.length > 0 ? [table, more] : []),
  );
}

/** The section about the learners of a run; `null` if the run has no learners. */
export function looks({ data }: Store): HTMLElement | null {
  const learners = data.run.learners ?? [];
  if (learners.length === 0) return null;
  const element = section(
    "looks",
    "Learners and their columns",
    "Models that are not linear in the columns combine probabilities that learners estimate. A column's share of the gain " +
      "shows how much a learner relies on it; it does not show in which direction.",
  );
  const [outcome, ...groups] = learners;
  if (outcome && groups.length > 0) {
    const about = groups.map(({ predicts }) => shorten(predicts, 60)).join(", ");
    element.append(
      h(
        "p",
        { class: "intro", id: "uses-groups" },
        `Every group-blind fair model uses how much the columns say about the group: the score combines the ` +
          `probability of the outcome (${shorten(outcome.predicts, 60)}) with the probabilities of the groups (${shorten(about, 200)}).` +
          (data.run.spec.use_sensitive ? "" : ` The sensitive columns themselves are not needed for a ${decides() ? "decision" : "prediction"}.`),
      ),
    );
  }
  element.append(h("div", { class: "learners" }, ...learners.map(card)));
  return element;
}
