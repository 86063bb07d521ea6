// Verdicts on whether a model meets a requirement on new people: certified, not certified or violated.

import type { Certificate, PageData } from "./data.ts";
import { h, shorten } from "./dom.ts";
import { canonical, parseRequirement, type Requirement, requirementText } from "./grammar.ts";
import { intervalText, rowsName, valueText } from "./label.ts";
import { grouped, readable } from "./number.ts";
import type { Store } from "./store.ts";

export interface Verdict {
  requirement: string;
  verdict: "certified" | "not certified" | "violated";
  /** The reason, without a period. */
  why: string;
}

const TESTS = { score: "score tests", exact: "finite-sample tests", band: "the simultaneous band" } as const;

/** The test of a certificate: `score tests on 5,853 test rows at 95% confidence`. */
export function testText({ test, rows, confidence }: Certificate): string {
  return `${TESTS[test]} on ${grouped(rows.count)} ${rows.split} rows at ${readable(100 * confidence)}% confidence`;
}

/** A requirement in canonical form; certificates may have other spaces in it. */
function normal(text: string): string {
  try {
    return requirementText(parseRequirement(text));
  } catch {
    return text;
  }
}

/** The groups that a certificate does not cover. */
export function uncoveredText(certificate: Certificate): string {
  const groups = certificate.not_covered ?? [];
  if (groups.length === 0) return "";
  return `; not covered, because of too few training rows: ${shorten(groups.join(", "), 200)}`;
}

/** The certificate that a model has for exactly this requirement. */
function certificateOf(data: PageData, requirement: string, model: number): Certificate | undefined {
  return data.certificates.find(
    (c) => c.certified.includes(model) && c.requirements.some((text) => normal(text) === requirement),
  );
}

/** The verdict for one model, by its certificate or else by the band that holds for all models at once. */
export function verdictOf(data: PageData, requirement: Requirement, model: number): Verdict {
  const { front } = data;
  const { term, comparator, bound } = requirement;
  const text = requirementText(requirement);
  const found = certificateOf(data, text, model);
  if (found) {
    const late = found.stated === "after-looking" ? ", stated after looking at these rows" : "";
    const why = `by ${testText(found)} (use ${found.use})${late}${uncoveredText(found)}`;
    return { requirement: text, verdict: "certified", why };
  }
  const not = (why: string): Verdict => ({ requirement: text, verdict: "not certified", why });
  if (term.objective || (term.split !== null && term.split !== front.reporting)) {
    return not("the requirement is not about a measure on test rows");
  }
  const measure = canonical(term);
  const column = `${front.reporting}.${measure}`;
  const value = front.at(column, model);
  const band = front.interval(column, model, "band");
  if (value === null) return not(`the measure is not defined on ${rowsName(front.reporting)} rows`);
  const estimate = `estimate ${valueText(measure, value)} on ${rowsName(front.reporting)} rows`;
  if (band === null) return not(`${estimate}, without an interval`);
  const upper = comparator === "<=" || comparator === "<";
  // `<=` and `>=` allow the limit itself; `<` and `>` do not.
  const strict = comparator === "<" || comparator === ">";
  const [low, high] = upper ? band : [-band[1], -band[0]];
  const limit = upper ? bound : -bound;
  const ends = intervalText(measure, band);
  if (strict ? high < limit : high <= limit) {
    return {
      requirement: text,
      verdict: "certified",
      why: `the simultaneous 95% band of all models, ${ends}, keeps the limit; ${estimate}`,
    };
  }
  if (strict ? low >= limit : low > limit) {
    return {
      requirement: text,
      verdict: "violated",
      why: `the whole simultaneous 95% band, ${ends}, is beyond the limit; ${estimate}`,
    };
  }
  return not(`the simultaneous 95% band, ${ends}, includes the limit; ${estimate}`);
}

/** Verdicts for the requirements set in the report, then for those that the run has certificates for. */
export function verdicts(store: Store, model: number): Verdict[] {
  const { data } = store;
  const all = new Map(store.requirements.map((r) => [requirementText(r), r]));
  for (const text of data.certificates.flatMap((c) => c.requirements)) {
    try {
      const requirement = parseRequirement(text);
      all.set(requirementText(requirement), requirement);
    } catch {
      // Requirements of later versions may not parse; they get no verdict.
    }
  }
  return [...all.values()].map((requirement) => verdictOf(data, requirement, model));
}

/** All verdicts as a list. */
export function verdictList(store: Store, model: number): HTMLElement | null {
  const found = verdicts(store, model);
  if (found.length === 0) return null;
  return h(
    "ul",
    { class: "verdicts" },
    ...found.map(({ requirement, verdict, why }) =>
      h(
        "li",
        {},
        h("strong", { class: `verdict ${verdict.replace(" ", "-")}` }, verdict),
        " ",
        h("code", {}, shorten(requirement, 120)),
        h("span", { class: "note" }, ` ${shorten(why, 300)}`),
      ),
    ),
  );
}
