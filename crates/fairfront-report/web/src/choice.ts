// The panel of the selected model: reason, price, verdicts, values and download.

import { freshId, h, shorten } from "./dom.ts";
import { modelText, save } from "./download.ts";
import { singular } from "./family.ts";
import { requirementText, termText } from "./grammar.ts";
import { UNMITIGATED } from "./front.ts";
import {
  capital,
  columnName,
  explain,
  intervalText,
  modelName,
  pricedMeasures,
  rowsName,
  shortName,
  valueText,
  words,
} from "./label.ts";
import { performanceName } from "./meaning.ts";
import { idOf } from "./modelId.ts";
import { counted, plain } from "./number.ts";
import { missesAt } from "./select.ts";
import type { Asked, Store } from "./store.ts";
import { verdictList } from "./verdict.ts";

/** How the model was selected, in a few words. */
function how(store: Store): string {
  const rule = store.rule;
  if (store.problem !== null) return "Closest to your requirements";
  const among =
    store.requirements.length === 0
      ? `of ${counted(store.front.length, "model")}`
      : `of ${counted(store.meeting, "model")} that ${store.meeting === 1 ? "meets" : "meet"} your requirements`;
  switch (rule.kind) {
    case "id":
      return "Selected by you";
    case "unmitigated":
      return "Selected by you";
    case "opening":
      return store.knee === null
        ? "The report opens at this model"
        : "The knee of the models that are measurably fairer";
    case "knee":
      return `The knee ${among}`;
    case "regret":
      return `The least regret ${among}`;
    case "weights":
      return `The least weighted sum ${among}`;
    case "best":
      return termText(rule.term) === performanceName()
        ? `The most accurate ${among}`
        : `The best in ${shorten(termText(rule.term).replaceAll("_", " "), 60)} ${among}`;
  }
}

/** The command for the same selection. */
function command(store: Store): string | null {
  if (store.chosen === UNMITIGATED) return null;
  const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = ["fairfront", "select", quoted(store.data.name)];
  const rule: Asked =
    store.rule.kind === "opening" && store.knee !== null ? { kind: "id", id: idOf(store.knee) } : store.rule;
  if (rule.kind === "id") return [...words, "--model-id", String(rule.id)].join(" ");
  for (const requirement of store.requirements) words.push("--require", quoted(requirementText(requirement)));
  // The report checks requirements on validation rows; by default, the command tests them on certifying rows.
  if (store.requirements.length > 0) words.push("--confidence", "none");
  if (rule.kind === "best") words.push("--best", quoted(termText(rule.term)));
  else if (rule.kind === "weights") {
    const weights = rule.weights.map(([term, weight]) => `${termText(term)}=${plain(weight)}`);
    words.push("--weights", quoted(weights.join(",")));
  } else words.push(`--${rule.kind}`);
  return words.join(" ");
}

/** A list of models to compare with. */
function comparison(store: Store): HTMLElement {
  const id = freshId("other");
  const select = h("select", { id });
  select.append(h("option", { value: UNMITIGATED }, "the unmitigated model"));
  for (let model = 0; model < store.front.length; model++) {
    select.append(h("option", { value: model }, `${shortName(model)}${store.data.families.suffix(model)}`));
  }
  select.addEventListener("change", () => store.compareWith(Number(select.value)));
  const follow = () => {
    select.value = String(store.other);
  };
  store.on(["choice"], follow);
  follow();
  return h("div", { class: "field compared" }, h("label", { for: id }, "Compare with"), select);
}

/** The rows and intervals of the price. */
function basis(store: Store): string {
  const { front } = store;
  const rows = rowsName(front.reporting);
  if (store.selection?.price.performance.low !== null) {
    return `Compared with the unmitigated model on ${rows} rows, with 95% intervals.`;
  }
  const why = front.reporting === "test" ? "" : " The run has no test rows.";
  return `Compared with the unmitigated model on ${rows} rows, without intervals.${why}`;
}

export function choice(store: Store): HTMLElement {
  const { front, data } = store;
  const title = h("h2", { id: "choice-title" });
  const reason = h("p", { class: "eyebrow" });
  const family = h("p", { class: "note family" });
  family.hidden = !data.families.areShown;
  const problem = h("p", { class: "problem", role: "alert" });
  const sentence = h("p", { class: "price" });
  const judged = h("div");
  const body = h("tbody");
  const [ownHead, otherHead] = [h("th", { scope: "col" }), h("th", { scope: "col" })];
  const rows = h("caption");
  const table = h("table", { class: "short" }, rows, h("thead", {}, h("tr", {}, h("td"), ownHead, otherHead)), body);
  const get = h("button", { type: "button", class: "primary", id: "download-model" }, "Download this model");
  get.addEventListener("click", () => {
    save(`model-${idOf(store.chosen)}.json`, "application/json", modelText(data, store.chosen));
  });
  const details = h("a", { href: "#", class: "more" }, "See details");
  details.addEventListener("click", (event) => {
    // The address stores the selection, so it cannot also name a section.
    event.preventDefault();
    const target = document.getElementById("detail");
    target?.scrollIntoView({ block: "start" });
    target?.querySelector("h2")?.focus({ preventScroll: true });
  });
  const line = h("code", { class: "command" });
  const why = h("p", { class: "why" });
  const again = h("details", {}, h("summary", {}, "Command for the same selection"), why, line);
  const element = h(
    "div",
    { class: "choice", role: "region", "aria-labelledby": "choice-title" },
    reason,
    title,
    family,
    problem,
    sentence,
    judged,
    table,
    comparison(store),
    h("p", { class: "actions" }, get, details),
    again,
  );
  // Screen readers announce the selection once, not every cell of the table.
  const live = h("p", { class: "hidden", "aria-live": "polite", id: "said" });
  element.append(live);
  const draw = () => {
    const { chosen, other } = store;
    title.textContent = chosen === UNMITIGATED ? "Unmitigated model" : `Model ${idOf(chosen)}`;
    reason.textContent = how(store);
    family.textContent = `${capital(singular(data.families.of(chosen)))}.`;
    const said = store.selection?.price.sentence ?? "";
    if (store.selection === null) {
      const text = "This model was trained without regard to fairness. Select another model to compare it with this one.";
      sentence.replaceChildren(h("span", {}, text));
    } else {
      sentence.replaceChildren(h("span", {}, `${capital(said)}.`), h("span", { class: "note" }, ` ${basis(store)}`));
    }
    const missed = store.rule.kind === "id" ? missesAt(front, store.requirements, chosen).filter((m) => !m.met) : [];
    const against =
      store.problem ??
      (missed.length > 0
        ? `this model does not meet ${missed.map((m) => m.requirement).join(" and ")} on ${rowsName(front.split)} rows`
        : null);
    problem.hidden = against === null;
    problem.textContent = against === null ? "" : `${capital(shorten(against, 600))}.`;
    judged.replaceChildren(...[verdictList(store, chosen)].filter((e) => e !== null));
    rows.textContent = `On ${rowsName(store.split)} rows${store.split === "test" ? ", with 95% intervals" : ""}`;
    ownHead.textContent = shortName(chosen);
    otherHead.textContent = shortName(other);
    otherHead.hidden = other === chosen;
    body.replaceChildren(
      ...pricedMeasures(front).map((measure) => {
        const column = columnName(measure, store.split);
        const label = h("th", { scope: "row" }, capital(words(measure, 24)));
        const meaning = explain(measure);
        if (meaning !== null) label.title = capital(meaning);
        const cellOf = (model: number, name: string) => {
          const interval = front.interval(column, model);
          return h(
            "td",
            { class: name },
            h("span", model === chosen ? { "data-column": column } : {}, valueText(measure, front.at(column, model))),
            interval && h("span", { class: "interval" }, intervalText(measure, interval)),
          );
        };
        return h("tr", {}, label, cellOf(chosen, "own"), other === chosen ? null : cellOf(other, "other"));
      }),
    );
    const chosenBy = store.rule.kind === "opening" ? data.opening.reason : (store.selection?.reason ?? "");
    const untested = " Remove --confidence none to test the requirements on rows that influence no model and no choice.";
    const note = store.requirements.length > 0 && store.rule.kind !== "id" ? untested : "";
    why.textContent = `Reason: ${shorten(chosenBy, 500)}.${note}`;
    const typed = command(store);
    again.hidden = typed === null;
    line.textContent = shorten(typed ?? "", 2000);
    get.hidden = chosen === UNMITIGATED;
    live.textContent = `${capital(modelName(chosen))}. ${how(store)}. ${said}`;
  };
  store.on(["choice", "view"], draw);
  draw();
  return element;
}
