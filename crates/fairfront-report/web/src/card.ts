// The model card: the facts that a model needs when it is shared without the report.

import { h, name } from "./dom.ts";
import { singular } from "./family.ts";
import { UNMITIGATED } from "./front.ts";
import { capital, columnName, intervalText, pricedMeasures, rowsName, valueText, words } from "./label.ts";
import { idOf } from "./modelId.ts";
import { decides, targetClasses, targetDigits, type TargetUnit, targetUnit } from "./meaning.ts";
import { counted, grouped, inTarget } from "./number.ts";
import type { Store } from "./store.ts";
import { testText, uncoveredText, verdictList } from "./verdict.ts";
import { isWarning, message } from "./warning.ts";

/** The mean and the range of the target in the training rows. */
function targetText({ center, range }: TargetUnit): string {
  const [mean, low, high] = [center, ...range].map((v) => inTarget(v, targetDigits()));
  return `in training rows from ${low} to ${high}, ${mean} on average`;
}

/** Names separated by commas; a long list ends with a count of the rest. */
function names(all: string[], most = 24): (Node | string)[] {
  const shown = all.slice(0, most).flatMap((text, i) => (i === 0 ? [name(text, 40)] : [", ", name(text, 40)]));
  return all.length > most ? [...shown, ` and ${grouped(all.length - most)} more`] : shown;
}

export function modelCard(store: Store): HTMLElement {
  const { data, front, chosen } = store;
  const { run, attributes } = data;
  const { spec } = run;
  const list = h("dl", { class: "card" });
  const add = (term: string, ...description: (Node | string)[]) => {
    list.append(h("div", {}, h("dt", {}, term), h("dd", {}, ...description)));
  };
  const family = data.families.of(chosen);
  const kind = capital(singular(family));
  // The solver is that of the linear models.
  const program = family === "linear" && chosen !== UNMITIGATED ? `${run.solver}, fairfront ${run.program}` : `fairfront ${run.program}`;
  add(
    "Model",
    chosen === UNMITIGATED
      ? `${kind} (${program}) trained without regard to fairness, from the run `
      : `${kind} (${program}), model ${idOf(chosen)} of ${grouped(front.length)} from the run `,
    name(data.name, 60),
    ".",
  );
  const unit = targetUnit();
  const classes = targetClasses();
  if (classes !== null) {
    const order = classes.ordered ? ", from the lowest to the highest" : "";
    add("Decision", "The class of ", name(spec.target ?? "", 40), `${order}: `, ...names(classes.names), ".");
  } else if (unit === null) add("Decision", "Whether ", name(spec.target ?? "", 40), " is ", name(spec.positive ?? "", 40), ".");
  else add("Prediction", "The number ", name(spec.target ?? "", 40), `; ${targetText(unit)}.`);
  add("Inputs", ...names(data.inputs), ".");
  const sensitive = attributes.map((a) => a.name);
  add(
    "Sensitive and excluded columns",
    ...(spec.use_sensitive
      ? ["Sensitive columns that are inputs: ", ...names(sensitive)]
      : [`Sensitive columns that are not inputs and are not needed for a ${decides() ? "decision" : "prediction"}: `, ...names(sensitive)]),
    ...(spec.drop.length > 0 ? ["; excluded columns: ", ...names(spec.drop)] : []),
    ".",
  );
  const rows = front.splits.map((split) => `${grouped(run.rows[split] ?? 0)} ${rowsName(split)}`).join(", ");
  const dropped = run.dropped ? run.dropped.read - run.dropped.used : 0;
  const without = dropped > 0 ? `; ${grouped(dropped)} of ${counted(run.dropped?.read ?? 0, "row")} read were dropped` : "";
  add("Data", name(run.source, 60), `: ${rows} rows${without}.`);
  const last = front.reporting;
  const values = pricedMeasures(front).map((measure) => {
    const column = columnName(measure, last);
    const interval = front.interval(column, chosen);
    const ends = interval === null ? "" : `, 95% interval ${intervalText(measure, interval)}`;
    const before = chosen === UNMITIGATED ? "" : `; unmitigated ${valueText(measure, front.at(column, UNMITIGATED))}`;
    return h("div", {}, `${words(measure, 28)} ${valueText(measure, front.at(column, chosen))}${ends}${before}`);
  });
  add(`On ${rowsName(last)} rows`, ...values);
  const verdicts = verdictList(store, chosen);
  if (verdicts !== null) add("Requirements", verdicts);
  const tests = data.certificates.filter((c) => c.certified.includes(chosen));
  if (tests.length > 0) {
    add(
      "Certificates",
      ...tests.map((c) => h("p", {}, `${c.requirements.join(" and ")}: certified by ${testText(c)}, use ${c.use} of these rows${uncoveredText(c)}.`)),
      "Refitting until a model passes is not covered.",
    );
  }
  const gap = chosen === UNMITIGATED ? null : front.at("optimality_gap", chosen);
  if (gap !== null) {
    add(
      "Optimality",
      `No model can lower the loss on training rows by more than ${gap.toExponential(1)} without being worse in another objective.`,
    );
  }
  const warnings = run.messages.filter(isWarning);
  add(
    "Limitations",
    ...warnings.map((warning) => h("p", {}, ...message(warning.message))),
    "The numbers hold for people like those in these rows; other people, times and places can differ. Equal measures " +
      `do not show that ${decides() ? "labels or decisions" : "targets or predictions"} are correct.`,
  );
  return list;
}
