// The chosen model in short: why this one, what it costs, where to get it.

import { h, shorten } from "./dom.ts";
import { modelText, save } from "./download.ts";
import { requirementText, termText } from "./grammar.ts";
import { capital, columnOf, explain, pricedMeasures, words, rowsName } from "./label.ts";
import { cell, counted, plain } from "./number.ts";
import { missesAt } from "./select.ts";
import type { Store } from "./store.ts";

/** How the model was chosen, in a few words. */
function how(store: Store): string {
  const rule = store.rule;
  if (store.problem !== null) return "Nearest to what you ask";
  const among =
    store.requirements.length === 0
      ? `of ${counted(store.front.length, "model")}`
      : `of ${counted(store.meeting, "model")} that ${store.meeting === 1 ? "meets" : "meet"} your requirements`;
  switch (rule.kind) {
    case "id":
      return store.knee === rule.id ? "Picked by you; it is the knee" : "Picked by you";
    case "knee":
      return `The best balance (the knee) ${among}`;
    case "regret":
      return `The least regret ${among}`;
    case "weights":
      return `The least weighted sum ${among}`;
    case "best":
      return termText(rule.term) === "accuracy"
        ? `The most accurate ${among}`
        : `The best in ${shorten(termText(rule.term).replaceAll("_", " "), 60)} ${among}`;
  }
}

/** The same choice as a command. */
function command(store: Store): string {
  const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = ["fairfront", "select", quoted(store.data.name)];
  const rule = store.rule;
  if (rule.kind === "id") return [...words, "--id", String(rule.id)].join(" ");
  for (const requirement of store.requirements) words.push("--require", quoted(requirementText(requirement)));
  if (rule.kind === "best") words.push("--best", quoted(termText(rule.term)));
  else if (rule.kind === "weights") {
    const weights = rule.weights.map(([term, weight]) => `${termText(term)}=${plain(weight)}`);
    words.push("--weights", quoted(weights.join(",")));
  } else words.push(`--${rule.kind}`);
  return words.join(" ");
}

export function choice(store: Store): HTMLElement {
  const { front, data } = store;
  const title = h("h2", { id: "choice-title" });
  const reason = h("p", { class: "eyebrow" });
  const problem = h("p", { class: "problem", role: "alert" });
  const sentence = h("p", { class: "price" });
  const body = h("tbody");
  const head = h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("td"),
      h("th", { scope: "col" }, "this model"),
      h("th", { scope: "col" }, "unmitigated"),
    ),
  );
  const rows = h("caption");
  const table = h("table", { class: "short" }, rows, head, body);
  const get = h("button", { type: "button", class: "primary", id: "download-model" }, "Download this model");
  get.addEventListener("click", () => {
    save(`model-${store.chosen}.json`, "application/json", modelText(data, store.chosen));
  });
  const details = h("a", { href: "#", class: "more" }, "See it in detail");
  details.addEventListener("click", (event) => {
    // The address keeps the choice, so it cannot name a place as well.
    event.preventDefault();
    const target = document.getElementById("detail");
    target?.scrollIntoView({ block: "start" });
    target?.querySelector("h2")?.focus({ preventScroll: true });
  });
  const line = h("code", { class: "command" });
  const why = h("p", { class: "why" });
  const element = h(
    "div",
    { class: "choice", role: "region", "aria-labelledby": "choice-title" },
    reason,
    title,
    problem,
    sentence,
    table,
    h("p", { class: "actions" }, get, details),
    h("details", {}, h("summary", {}, "The same on the command line"), why, line),
  );
  // Screen readers hear the choice once, not every cell of it.
  const live = h("p", { class: "hidden", "aria-live": "polite", id: "said" });
  element.append(live);
  const draw = () => {
    const id = store.chosen;
    title.textContent = `Model ${id}`;
    reason.textContent = how(store);
    const said = store.selection?.price.sentence ?? "";
    sentence.replaceChildren(
      h("span", {}, `${capital(said)}.`),
      h("span", { class: "note" }, ` On ${rowsName(front.split)} rows, against the unmitigated model; a point is a hundredth.`),
    );
    const missed = store.rule.kind === "id" ? missesAt(front, store.requirements, id).filter((m) => !m.met) : [];
    const against =
      store.problem ??
      (missed.length > 0
        ? `this model does not meet ${missed.map((m) => m.requirement).join(" and ")}`
        : null);
    problem.hidden = against === null;
    problem.textContent = against === null ? "" : `${capital(shorten(against, 600))}.`;
    rows.textContent = `On ${rowsName(store.split)} rows`;
    body.replaceChildren(
      ...pricedMeasures(front).map((measure) => {
        const column = columnOf(front, measure, store.split);
        const before = front.unmitigated.get(column?.name ?? "") ?? null;
        const label = h("th", { scope: "row" }, capital(words(measure, 24)));
        const meaning = explain(measure);
        if (meaning !== null) label.title = capital(meaning);
        const own = h("td", { class: "own", "data-column": column?.name ?? "" }, cell(column?.values[id] ?? null));
        return h("tr", {}, label, own, h("td", {}, cell(before)));
      }),
    );
    why.textContent = `Why: ${shorten(store.selection?.reason ?? "", 500)}.`;
    line.textContent = shorten(command(store), 2000);
    live.textContent = `Model ${id}. ${how(store)}. ${said}`;
  };
  store.on(["choice", "view"], draw);
  draw();
  return element;
}
