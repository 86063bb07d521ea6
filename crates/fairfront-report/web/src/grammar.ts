// Parses and writes terms, requirements and weights, with the grammar of the command line.

import { plain } from "./number.ts";

/** A request that cannot be parsed, or that names something unknown. */
export class UsageError extends Error {}

export type Split = "train" | "validation" | "test";
export const SPLITS: readonly Split[] = ["train", "validation", "test"];

const SPECIAL = /[,=:()<>"]/;

/** Reads one string from left to right. */
class Scanner {
  private at = 0;
  constructor(private readonly text: string) {}

  clone(): Scanner {
    const copy = new Scanner(this.text);
    copy.at = this.at;
    return copy;
  }

  private skipSpaces(): void {
    while (this.at < this.text.length && /\s/.test(this.text.charAt(this.at))) this.at++;
  }

  take(c: string): boolean {
    this.skipSpaces();
    if (!this.text.startsWith(c, this.at)) return false;
    this.at += c.length;
    return true;
  }

  expect(c: string): void {
    if (!this.take(c)) throw this.fail(`expected '${c}'`);
  }

  finish(): void {
    this.skipSpaces();
    if (this.at < this.text.length) throw this.fail("expected the end");
  }

  /** A name in quotes, or up to a special character or a character of `ends`. */
  name(ends: RegExp = SPECIAL): string {
    this.skipSpaces();
    if (this.take('"')) return this.quoted();
    const rest = this.text.slice(this.at);
    const end = rest.search(ends);
    const length = end < 0 ? rest.length : end;
    const name = rest.slice(0, length).trimEnd();
    if (name === "") throw this.fail("expected a name");
    this.at += length;
    return name;
  }

  private quoted(): string {
    let out = "";
    for (let i = this.at; i < this.text.length; i++) {
      const c = this.text.charAt(i);
      if (c === '"') {
        this.at = i + 1;
        return out;
      }
      if (c === "\\") {
        const next = this.text.charAt(i + 1);
        if (next !== '"' && next !== "\\") {
          this.at = i;
          throw this.fail('expected \\" or \\\\');
        }
        out += next;
        i++;
      } else out += c;
    }
    this.at = this.text.length;
    throw this.fail("the quote is never closed");
  }

  fail(problem: string): UsageError {
    const column = [...this.text.slice(0, this.at)].length + 1;
    return new UsageError(`${JSON.stringify(this.text)}, character ${column}: ${problem}`);
  }
}

/** `name`, or `"name"` if it contains a special character or one of `more`. */
export function quote(name: string, more = ""): string {
  const isBare = name !== "" && name.trim() === name && !SPECIAL.test(name);
  if (isBare && (more === "" || !name.includes(more))) return name;
  return `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A measure or an objective as written. */
export interface Term {
  split: Split | null;
  objective: boolean;
  name: string;
  /** The class, if the target has several and the term names one. */
  class: string | null;
  attribute: string[];
  group: string[];
}

/** A name, or an interval of a numeric column, with that column. */
interface Name {
  name: string;
  column: string | null;
}

function readName(scanner: Scanner): Name {
  const before = scanner.clone();
  const first = scanner.name();
  if (scanner.take(">")) {
    scanner.expect("=");
    return { name: `${first}>=${plain(readNumber(scanner))}`, column: first };
  }
  if (!scanner.take("<")) return { name: first, column: null };
  if (!scanner.take("=")) return { name: `${first}<${plain(readNumber(scanner))}`, column: first };
  const low = readNumber(before);
  const column = scanner.name();
  scanner.expect("<");
  return { name: `${plain(low)}<=${column}<${plain(readNumber(scanner))}`, column };
}

function joined(scanner: Scanner): Name[] {
  const parts = [readName(scanner)];
  while (scanner.take(":")) parts.push(readName(scanner));
  return parts;
}

/** Reads `fp=1, fn=5)`; returns the column name of the error rate with these costs. */
function readCosts(scanner: Scanner): string {
  const costs = { fp: 1, fn: 1 };
  do {
    const before = scanner.clone();
    const name = scanner.name();
    if (name !== "fp" && name !== "fn") {
      throw before.fail("expected fp or fn, the cost of a wrong decision");
    }
    scanner.expect("=");
    const start = scanner.clone();
    costs[name] = readNumber(scanner);
    if (costs[name] <= 0) throw start.fail("expected a cost above 0");
  } while (scanner.take(","));
  scanner.expect(")");
  const equal = costs.fp === 1 && costs.fn === 1;
  return equal ? "error_rate" : `error_rate(fp=${plain(costs.fp)},fn=${plain(costs.fn)})`;
}

function readTerm(scanner: Scanner): Term {
  const before = scanner.clone();
  const isQuoted = scanner.clone().take('"');
  const whole = scanner.name(/[,=:()<>"[]/);
  // A quoted string is a single name, or a whole column name.
  const hasClass = whole.indexOf("[") > 0 && whole.endsWith("]");
  if (whole.includes("(") || (isQuoted && hasClass)) return parseTerm(whole);
  let name = whole;
  let split: Split | null = null;
  for (const part of SPLITS) {
    if (name.startsWith(`${part}.`)) {
      split = part;
      name = name.slice(part.length + 1);
      break;
    }
  }
  const objective = name.startsWith("objective.");
  if (objective) name = name.slice("objective.".length);
  const term: Term = { split, objective, name, class: null, attribute: [], group: [] };
  if (name === "") throw before.fail("expected a measure or an objective");
  if (scanner.take("[")) {
    const start = scanner.clone();
    try {
      term.class = scanner.name(/\]/);
    } catch {
      throw start.fail("expected a class");
    }
    if (!scanner.take("]")) {
      throw scanner.fail("expected ']'; put a class that contains ] or \" in double quotes");
    }
  }
  if (name === "error_rate" && term.class === null && scanner.take("(")) {
    term.name = readCosts(scanner);
    return term;
  }
  if (scanner.take("(")) {
    const start = scanner.clone();
    const parts = joined(scanner);
    const columns = parts.map(({ column }) => column).filter((column) => column !== null);
    const names = (of: Name[]) => of.map((part) => part.name);
    if (columns.length === 0) {
      term.attribute = names(parts);
      if (scanner.take("=")) term.group = names(joined(scanner));
    } else if (columns.length === parts.length) {
      [term.attribute, term.group] = [columns, names(parts)];
    } else {
      throw start.fail("a group of an intersection needs the columns in front of it, as in age:sex=age<30:F");
    }
    if (!scanner.take(")")) {
      throw scanner.fail("expected ')'; put a name that contains one of , = : ( ) < > in double quotes");
    }
  }
  return term;
}

/** Parses a whole string. */
export function parseTerm(text: string): Term {
  const scanner = new Scanner(text);
  const term = readTerm(scanner);
  scanner.finish();
  return term;
}

/** The column name in a front without the split: `selection_rate(sex=F)`. */
export function canonical(term: Term): string {
  const name = term.class === null ? term.name : `${term.name}[${term.class}]`;
  if (term.attribute.length === 0) return name;
  const [only = ""] = term.attribute;
  const attribute = term.attribute.length === 1 ? only : term.attribute.map((part) => quote(part)).join(":");
  // The label of an intersection quotes parts that contain a colon.
  const part = (name: string) => (/[:"]/.test(name) ? quote(name) : name);
  const group = term.group.length === 1 ? term.group[0] : term.group.map(part).join(":");
  return term.group.length === 0
    ? `${name}(${attribute})`
    : `${name}(${attribute}=${group})`;
}

/** The group as typed without its attribute, if it is an interval of that attribute. */
function intervalText({ attribute, group }: Term): string | null {
  const [column = "", label = ""] = [attribute[0], group[0]];
  const at = label.indexOf(column);
  if (attribute.length !== 1 || group.length !== 1 || column === "" || at < 0) return null;
  const text = `${label.slice(0, at)}${quote(column)}${label.slice(at + column.length)}`;
  try {
    const scanner = new Scanner(text);
    const part = readName(scanner);
    scanner.finish();
    return part.name === label && part.column === column ? text : null;
  } catch {
    return null;
  }
}

export function termText(term: Term): string {
  const list = (names: string[]) => names.map((name) => quote(name)).join(":");
  const split = term.split === null ? "" : `${term.split}.`;
  const of = term.class === null ? "" : `[${quote(term.class, "]")}]`;
  const name = `${split}${term.objective ? "objective." : ""}${term.name}`;
  // Only the name of an error rate contains parentheses, with its costs.
  const head = `${term.name.includes("(") ? name : quote(name, "[")}${of}`;
  if (term.attribute.length === 0) return head;
  const interval = intervalText(term);
  if (interval !== null) return `${head}(${interval})`;
  const group = term.group.length === 0 ? "" : `=${list(term.group)}`;
  return `${head}(${list(term.attribute)}${group})`;
}

export type Comparator = "<=" | ">=" | "<" | ">";

/** A bound on a measure or an objective. */
export interface Requirement {
  term: Term;
  comparator: Comparator;
  bound: number;
}

function readComparator(scanner: Scanner): Comparator {
  if (scanner.take("<")) return scanner.take("=") ? "<=" : "<";
  if (scanner.take(">")) return scanner.take("=") ? ">=" : ">";
  throw scanner.fail("expected <=, >=, < or >");
}

/** A number, or a percentage: `5%` is 0.05. */
function readLimit(scanner: Scanner): number {
  const before = scanner.clone();
  const text = nameOrFail(scanner, before);
  return limitOf(text) ?? fail(before, text.replace(/\s*%$/, ""));
}

/** Parses a limit; `null` if the string is not a number or a percentage. */
export function limitOf(text: string): number | null {
  const [, digits, power, percent] = /^([-+]?(?:\d+\.?\d*|\.\d+))(e[-+]?\d+)?\s*(%)?$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return null;
  const plain = Number(`${digits}${power ?? ""}`);
  // Shift the decimal point, so that 12.3% is exactly the number 0.123.
  const number = percent === undefined ? plain : power === undefined ? Number(`${digits}e-2`) : plain / 100;
  return Number.isFinite(number) ? number : null;
}

function nameOrFail(scanner: Scanner, before: Scanner): string {
  try {
    return scanner.name();
  } catch {
    throw before.fail("expected a number");
  }
}

function fail(before: Scanner, text: string): never {
  throw before.fail(`${JSON.stringify(text)} is not a number`);
}

function readNumber(scanner: Scanner): number {
  const before = scanner.clone();
  const text = nameOrFail(scanner, before);
  const number = Number(text);
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(number)) return number;
  return fail(before, text);
}

/** Parses `accuracy >= 0.8` or `accuracy >= 80%`. */
export function parseRequirement(text: string): Requirement {
  const scanner = new Scanner(text);
  const requirement = {
    term: readTerm(scanner),
    comparator: readComparator(scanner),
    bound: readLimit(scanner),
  };
  scanner.finish();
  return requirement;
}

export function requirementText({ term, comparator, bound }: Requirement): string {
  return `${termText(term)} ${comparator} ${plain(bound)}`;
}

/** Parses `log_loss=0.7, demographic_parity(sex)=0.3`. */
export function parseWeights(text: string): [Term, number][] {
  const scanner = new Scanner(text);
  const weights: [Term, number][] = [];
  do {
    const before = scanner.clone();
    const term = readTerm(scanner);
    if (weights.some(([other]) => termText(other) === termText(term))) {
      throw before.fail(`${termText(term)} has two weights; remove one`);
    }
    scanner.expect("=");
    const start = scanner.clone();
    const weight = readNumber(scanner);
    if (weight < 0) throw start.fail(`${plain(weight)} is negative; choose a weight of at least 0`);
    weights.push([term, weight]);
  } while (scanner.take(","));
  if (weights.every(([, weight]) => weight === 0)) {
    throw scanner.fail("all weights are 0; set at least one above 0");
  }
  scanner.finish();
  return weights;
}

/** The most similar names, or all names. */
export function nearNames(wanted: string, names: string[]): string {
  const folded = (s: string) => s.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  const target = folded(wanted);
  const near = names
    .map((name) => {
      const other = folded(name);
      const contained =
        target.length >= 3 && other !== "" && (other.startsWith(target) || target.startsWith(other));
      const longest = Math.max(target.length, other.length);
      const closeness = longest === 0 ? 1 : 1 - distance(target, other) / longest;
      return { name, score: closeness + (contained ? 0.3 : 0) };
    })
    .filter(({ score }) => score >= 0.6)
    .sort((a, b) => b.score - a.score)
    .slice(0, 3);
  const list = (all: string[]) => all.map((name) => JSON.stringify(name)).join(", ");
  if (near.length > 0) return `did you mean ${list(near.map(({ name }) => name))}?`;
  return names.length === 0 ? "none are available" : `available: ${list(names.slice(0, 12))}`;
}

/** The number of insertions, deletions, replacements and swaps of neighbors between two strings. */
function distance(a: string, b: string): number {
  const rows: number[][] = [];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 0; i <= a.length; i++) {
    rows.push(new Array<number>(b.length + 1).fill(0));
    for (let j = 0; j <= b.length; j++) {
      const row = rows[i] as number[];
      if (i === 0 || j === 0) {
        row[j] = i + j;
        continue;
      }
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.length, b.length);
}
