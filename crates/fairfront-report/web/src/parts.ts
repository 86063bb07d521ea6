// The parts of the name of a measure or an objective: `recall[low](sex=F)`.

/** A name without its split: the kind, the class in brackets, and the attribute or group in parentheses. */
export interface Parts {
  kind: string;
  /** The class, or `TRUE>DECIDED` for counts of decisions; `null` if the measure is not about one class. */
  class: string | null;
  inside: string | null;
}

/** The kind of a measure: its name without class, attribute and group. */
export function kindOf(bare: string): string {
  const end = bare.search(/[[(]/);
  return end < 0 ? bare : bare.slice(0, end);
}

/** The part in parentheses at the end of a name; `undefined` if the text is neither empty nor in parentheses. */
function insideOf(text: string): string | null | undefined {
  if (text === "") return null;
  return text.startsWith("(") && text.endsWith(")") ? text.slice(1, -1) : undefined;
}

/**
 * The parts of a name. A class may contain any characters, also `](`: of several ways to read a name, the one with a class
 * that `isClass` knows is right.
 */
export function partsOf(bare: string, isClass: (text: string) => boolean): Parts {
  const kind = kindOf(bare);
  const rest = bare.slice(kind.length);
  if (!rest.startsWith("[")) {
    return { kind, class: null, inside: rest === "" ? null : rest.slice(1).replace(/\)$/, "") };
  }
  let first: Parts | null = null;
  for (let end = rest.indexOf("]"); end >= 0; end = rest.indexOf("]", end + 1)) {
    const inside = insideOf(rest.slice(end + 1));
    if (inside === undefined) continue;
    const found = { kind, class: rest.slice(1, end), inside };
    if (isClass(found.class)) return found;
    first ??= found;
  }
  return first ?? { kind: bare, class: null, inside: null };
}

/** The class and the decision of a count of decisions, `TRUE>DECIDED`; `null` if these are not known classes. */
export function pairOf(text: string, classes: readonly string[]): [of: string, decided: string] | null {
  for (let at = text.indexOf(">"); at >= 0; at = text.indexOf(">", at + 1)) {
    const [of, decided] = [text.slice(0, at), text.slice(at + 1)];
    if (classes.includes(of) && classes.includes(decided)) return [of, decided];
  }
  return null;
}
