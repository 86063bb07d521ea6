// The model card: what somebody has to know who is handed this model alone.

import { h, name } from "./dom.ts";
import { columnOf, pricedMeasures, words, rowsName } from "./label.ts";
import { cell, grouped } from "./number.ts";
import type { Store } from "./store.ts";

/** Names with commas, as many as can be read. */
function names(all: string[], most = 24): (Node | string)[] {
  const shown = all.slice(0, most).flatMap((text, i) => (i === 0 ? [name(text, 40)] : [", ", name(text, 40)]));
  return all.length > most ? [...shown, ` and ${grouped(all.length - most)} more`] : shown;
}

export function modelCard(store: Store): HTMLElement {
  const { data, front, chosen } = store;
  const { run, attributes } = data;
  const { spec } = run;
  const list = h("dl", { class: "card" });
  const add = (term: string, ...said: (Node | string)[]) => {
    list.append(h("div", {}, h("dt", {}, term), h("dd", {}, ...said)));
  };
  add(
    "What it is",
    `A linear model (${run.method}, fairfront ${run.program}), model ${chosen} of ${grouped(front.length)} of the run `,
    name(data.name, 60),
    ".",
  );
  add("What it decides", "Whether ", name(spec.target ?? "", 40), " is ", name(spec.positive ?? "", 40), ".");
  add("What it looks at", ...names(data.inputs), ".");
  const sensitive = attributes.map((a) => a.name);
  add(
    "What it does not look at",
    ...(spec.use_sensitive
      ? ["Sensitive columns are among its inputs: ", ...names(sensitive)]
      : ["The sensitive columns ", ...names(sensitive), ", which are not needed for a decision"]),
    ...(spec.drop.length > 0 ? ["; left out: ", ...names(spec.drop)] : []),
    ".",
  );
  const rows = front.splits.map((split) => `${grouped(run.rows[split] ?? 0)} ${rowsName(split)}`).join(", ");
  add("Data", name(run.source, 60), `: ${rows} rows.`);
  const last = front.splits[front.splits.length - 1] ?? "train";
  const said = pricedMeasures(front).map((measure) => {
    const column = columnOf(front, measure, last);
    const before = front.unmitigated.get(column?.name ?? "") ?? null;
    return `${words(measure, 28)} ${cell(column?.values[chosen] ?? null)} (unmitigated ${cell(before)})`;
  });
  add(`On ${rowsName(last)} rows`, `${said.join("; ")}.`);
  const gap = front.values("certificate.gap")?.[chosen] ?? null;
  if (gap !== null) {
    add("Proven", `No model has a loss lower by more than ${gap.toExponential(1)} without being worse in another objective.`);
  }
  const wary = run.notices.filter((notice) => notice.level === "warning");
  add(
    "Be wary of",
    ...(wary.length === 0
      ? ["Nothing in particular was found. "]
      : wary.map((notice) => h("p", {}, `${notice.message.slice(0, 600)}.`))),
    "Numbers are those of the rows above; other people, times and places can differ. That groups are treated alike " +
      "by these measures does not make a decision right.",
  );
  return list;
}
