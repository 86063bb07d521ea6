// How the run was made: solver, settings, optimality proof, data, dropped rows, warnings and notes.

import { comparedNote, daggerOf } from "./compared.ts";
import type { Attribute, RunFacts } from "./data.ts";
import { h, name, section, shorten } from "./dom.ts";
import { plural } from "./family.ts";
import { ERROR_RATE } from "./front.ts";
import { rowsName, words } from "./label.ts";
import { decides, targetClasses } from "./meaning.ts";
import { counted, fixed, grouped, plain, readable } from "./number.ts";
import type { Store } from "./store.ts";
import { testText } from "./verdict.ts";
import { isWarning, severityName, message } from "./warning.ts";

/** Longer lists end with a count of the rest. */
const [MOST_REASONS, MOST_GROUPS] = [12, 40];

const SOLVERS: Record<string, string> = {
  trace: "trace: follows the exact front with second derivatives",
  weighted: "weighted: minimizes many weighted sums of the objectives at once",
  "pf-smg": "PF-SMG: follows stochastic gradients of all objectives and keeps a list of nondominated models",
  "eps-fair": "EPS-fair: minimizes the loss under bounds on the other objectives",
};

/** The treatment of rows with missing values, by policy. */
const MISSING: Record<string, string> = {
  drop: "dropped",
  keep: "kept",
  category: "kept; missing is a category of its own",
  mean: "kept; missing numbers are replaced by the training mean",
};

const MISSING_GROUP: Record<string, string> = {
  drop: "dropped",
  group: "kept as a group of their own",
  "loss-only": "used for the loss only",
};

const STOPS: Record<string, string> = {
  full: "the list of models is full",
  steps: "the step budget is used up",
  converged: "no further improvement",
  complete: "completed",
  stopped: "stopped early; results so far were kept",
};

/** The value of a setting as a short string. */
function said(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "number") return plain(value);
  if (typeof value === "object") {
    const entries = Array.isArray(value) ? value.map(said) : Object.entries(value).map(([k, v]) => `${k} ${said(v)}`);
    return shorten(entries.join(", "), 300);
  }
  return shorten(String(value), 300);
}

function list(entries: [string, (Node | string)[]][]): HTMLElement {
  const element = h("dl", { class: "facts" });
  for (const [term, values] of entries) element.append(h("div", {}, h("dt", {}, term), h("dd", {}, ...values)));
  return element;
}

function optimality(run: RunFacts): string {
  const { proven, largest_optimality_gap: gap, largest_residual: residual } = run.proof;
  if (gap === null) {
    return `no optimality proof for these models; largest gradient residual ${residual.toExponential(1)}`;
  }
  const which = proven === run.models ? "every model" : `${grouped(proven)} of ${counted(run.models, "model")}`;
  return `proven for ${which}: no model can lower the loss on training rows by more than ${gap.toExponential(1)} without being worse in another objective`;
}

/** How intervals were computed. */
function intervals(run: RunFacts): string {
  const made = run.intervals;
  if (!made) return "none: the run has no test rows, or was made by an earlier version";
  const left = made.left_out > 0.01 ? `; ${readable(100 * made.left_out)}% of the redraws lack a group` : "";
  return `${readable(100 * made.confidence)}%, ${made.replicates > 0 ? `from ${grouped(made.replicates)} redraws of` : "from means and variances on"} the test rows${left}`;
}

/** The uses of the certifying rows. */
function certificates(store: Store): (Node | string)[] {
  const { certificates: all } = store.data;
  if (all.length === 0) return ["no requirement was tested"];
  return all.map((c) => {
    const when = c.stated === "before" ? "stated before results were shown" : "stated after looking at these rows";
    const how = `${testText(c)}, use ${c.use} of these rows, significance level ${readable(c.level)}, ${when}`;
    const which = `${grouped(c.certified.length)} of ${counted(store.front.length, "model")} certified`;
    return h("div", {}, h("code", {}, shorten(c.requirements.join(" and "), 300)), `: ${which}; ${how}`);
  });
}

function judgedName(measure: string): string {
  return measure === ERROR_RATE ? "accuracy" : words(measure);
}

function judged(run: RunFacts): string {
  const { front_in: by, candidates, moved, on_test: onTest } = run.judged;
  const basis =
    by === "measures"
      ? `by measures (${run.judged.measures.map(judgedName).join(", ")}) on training and validation rows`
      : "by the objectives on training rows";
  const how = targetClasses() === null ? "moving the decision threshold" : "changing the intercepts";
  const threshold = moved > 0 ? ` (${grouped(moved)} obtained by ${how} of another)` : "";
  const test =
    onTest === undefined ? "" : `; on test rows ${grouped(onTest)} of ${grouped(run.models)} remain nondominated`;
  return `${basis}; ${counted(candidates, "candidate")}${threshold}${test}`;
}

export function provenance(store: Store): HTMLElement {
  const { data } = store;
  const { run } = data;
  const element = section("provenance", "How this was made", null);
  const seconds = Object.values(run.seconds).reduce((a, b) => a + b, 0);
  const settings = Object.entries(run.solver_settings);
  const fit: [string, (Node | string)[]][] = [
    ["Solver", [SOLVERS[run.solver] ?? run.solver, ...(run.reason ? [` (${run.reason})`] : [])]],
    ["Settings", [settings.map(([key, value]) => `${key} ${said(value)}`).join(", ")]],
    ["Seed", [String(run.spec.seed)]],
    ["Objectives", [h("ul", {}, ...run.definitions.map((d) => h("li", {}, h("code", {}, shorten(d, 160)))))]],
    ["Front", [judged(run)]],
    ["Optimality", [optimality(run)]],
    ["Intervals", [intervals(run)]],
    ["Certificates", certificates(store)],
    ["Ended", [STOPS[run.stop] ?? run.stop]],
    ["Time", [`${seconds < 10 ? fixed(seconds, 1) : grouped(Math.round(seconds))} s`]],
    ["Version", [`fairfront ${run.program}`]],
  ];
  const families = data.families.counts.map(([family, n]) => `${plural(family)}: ${grouped(n)}`);
  if (data.families.areShown) fit.splice(5, 0, ["Families", [families.join("; ")]]);
  if (run.polish) fit.splice(5, 0, ["Polished", [said(run.polish)]]);
  element.append(
    h("div", { class: "columns" }, h("div", {}, h("h3", {}, "Fit"), list(fit)), h("div", {}, h("h3", {}, "Data"), list(dataFacts(store)))),
  );
  element.append(h("h3", {}, "Warnings and notes"), messages(run));
  element.append(
    h(
      "p",
      { class: "note" },
      "This report is one file. It makes no network request, needs no server and contains no row of the data. To " +
        "recompute the numbers of the run from its data, run ",
      h("code", {}, `fairfront verify ${shorten(data.name, 80)}`),
      ".",
    ),
  );
  return element;
}

function dataFacts(store: Store): [string, (Node | string)[]][] {
  const { data, front } = store;
  const { run } = data;
  const { spec } = run;
  const rows = front.splits.map((split) => `${grouped(run.rows[split] ?? 0)} ${rowsName(split)}`).join(", ");
  const missing = Object.entries(spec.missing_by_column).map(([column, policy]) => `${shorten(column, 40)}: ${MISSING[policy] ?? policy}`);
  const facts: [string, (Node | string)[]][] = [
    ["Source", [name(run.source, 80)]],
    ["Rows", [rowsUsed(run, rows)]],
    ...droppedRows(run),
    ["Target", [name(spec.target ?? "", 40), ...targetText(spec.positive)]],
    ["Groups", data.attributes.map((attribute) => groupsOf(run, attribute))],
    ["Excluded columns", [spec.drop.length === 0 ? "none" : shorten(spec.drop.map((c) => shorten(c, 40)).join(", "), 300)]],
    ["Sensitive columns", [spec.use_sensitive ? "used as features" : "not used as features"]],
    ["Rows with missing values", [shorten([MISSING[spec.missing] ?? spec.missing, ...missing].join("; "), 300)]],
    ["Rows without a group", [MISSING_GROUP[spec.missing_sensitive] ?? spec.missing_sensitive]],
    ["Rare categories", [spec.pool_rare === 0 ? "kept as they are" : `pooled if below ${counted(spec.pool_rare, "training row")}`]],
    ["Scaling", [spec.scale]],
    ["Split", [splitText(spec.split)]],
    ["Fingerprint of the rows", [h("code", { class: "hash" }, run.fingerprint)]],
    ["Fingerprint of the front", [h("code", { class: "hash" }, run.front_sha256)]],
  ];
  if (run.stream) facts.splice(2, 0, ["Stream", [streamed(run.stream)]]);
  if (spec.weight !== null) facts.splice(3, 0, ["Weights", [name(spec.weight, 40)]]);
  return facts;
}

/** The kind of the target. */
function targetText(positive: string | null): (Node | string)[] {
  const classes = targetClasses();
  if (classes === null) return decides() ? [" is ", name(positive ?? "", 40)] : [", a number"];
  const shown = classes.names.slice(0, MOST_GROUPS).flatMap((of, i) => [i === 0 ? "" : ", ", name(of, 40)]);
  const rest = classes.names.length > MOST_GROUPS ? ` and ${grouped(classes.names.length - MOST_GROUPS)} more` : "";
  return [`, one of ${classes.names.length} ${classes.ordered ? "ordered " : ""}classes: `, ...shown, rest];
}

/** Rows read and used, and rows by split. */
function rowsUsed(run: RunFacts, bySplit: string): string {
  if (!run.dropped) return bySplit;
  const { read, used } = run.dropped;
  return `${grouped(read)} read, ${grouped(used)} used: ${bySplit}`;
}

/** How many rows were dropped, and why. */
function droppedRows(run: RunFacts): [string, (Node | string)[]][] {
  if (!run.dropped) return [];
  const { read, used, reasons } = run.dropped;
  if (read <= used && reasons.length === 0) return [["Dropped rows", ["none"]]];
  const body = reasons.slice(0, MOST_REASONS).map(({ reason, rows, column }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, shorten(reason, 120), ...(column ? [" (", name(column, 40), ")"] : [])),
      h("td", { class: "number" }, grouped(rows)),
    ),
  );
  const rest = reasons.slice(MOST_REASONS);
  if (rest.length > 0) {
    const rows = rest.reduce((sum, one) => sum + one.rows, 0);
    body.push(h("tr", {}, h("th", { scope: "row" }, counted(rest.length, "other reason")), h("td", { class: "number" }, grouped(rows))));
  }
  const head = h("tr", {}, h("th", { scope: "col" }, "reason"), h("th", { scope: "col" }, "rows"));
  const table = h("table", { class: "plain dropped" }, h("caption", { class: "hidden" }, "Dropped rows by reason"), h("thead", {}, head), h("tbody", {}, ...body));
  return [["Dropped rows", [counted(read - used, "row"), ...(reasons.length > 0 ? [table] : [])]]];
}

/** The groups of an attribute; those that are not compared have a mark. */
function groupsOf(run: RunFacts, { name: attribute, groups }: Attribute): HTMLElement {
  const shown = groups.slice(0, MOST_GROUPS).flatMap((group, i) => {
    const mark = daggerOf(run, attribute, group);
    return [i === 0 ? "" : ", ", name(group, 40), ...(mark ? [mark] : [])];
  });
  const rest = groups.length > MOST_GROUPS ? ` and ${grouped(groups.length - MOST_GROUPS)} more` : "";
  const note = comparedNote(run, attribute);
  return h(
    "div",
    {},
    h("span", {}, name(attribute, 40), ": ", ...shown, rest),
    note === null ? null : h("p", { class: "note" }, note),
  );
}

/** How rows were split. */
function splitText(split: unknown): string {
  const rule = split as { shares?: number[]; column?: string } | null;
  if (rule && Array.isArray(rule.shares)) {
    const names = ["training", "validation", "certify", "test"];
    const shares = rule.shares.map((share, i) => (share > 0 ? `${readable(share)}% ${names[i] ?? ""}` : ""));
    return `at random: ${shares.filter(Boolean).join(", ")}`;
  }
  if (rule && typeof rule.column === "string") return `by the column ${shorten(rule.column, 40)}`;
  return split === "none" ? "all rows are training rows" : said(split);
}

/** The batches of a stream, and how their rows were used. */
function streamed(stream: NonNullable<RunFacts["stream"]>): string {
  const { batches, updated, rows, used, rejected, dropped, kept } = stream;
  const why = dropped.slice(0, 12).map((d) => `${shorten(d.reason, 60)} (${grouped(d.rows)})`);
  const said = [
    `${counted(batches, "batch").replace(/batchs$/, "batches")}, ${counted(rows, "row")}`,
    updated < batches
      ? `${grouped(used)} used; the front is from batch ${grouped(updated)}; later batches could not update it`
      : `${grouped(used)} used, of which the front is based on ${grouped(kept)}`,
    ...(rejected > 0 ? [`${grouped(rejected)} rejected`] : []),
    ...(why.length > 0 ? [`dropped: ${why.join(", ")}`] : []),
  ];
  return said.join("; ");
}

function messages(run: RunFacts): HTMLElement {
  if (run.messages.length === 0) return h("p", {}, "None.");
  const order = [...run.messages].sort((a, b) => Number(isWarning(b)) - Number(isWarning(a)));
  return h(
    "ul",
    { class: "messages" },
    ...order.map((one) =>
      h("li", { class: isWarning(one) ? "warning" : "note-item" }, h("strong", {}, `${severityName(one)}: `), ...message(one.message)),
    ),
  );
}
