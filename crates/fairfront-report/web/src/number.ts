// Numbers as the command writes them.

/** Sign, shortest digits that come back exactly, and the place of the point: 0.d1d2… × 10^place. */
function digitsOf(value: number): { sign: string; digits: string; place: number } {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", exponent = "0"] = Math.abs(value).toExponential().split("e");
  return { sign, digits: mantissa.replace(".", ""), place: Number(exponent) + 1 };
}

/** All digits, no power of ten: what `show --csv` writes. */
export function plain(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const { sign, digits, place } = digitsOf(value);
  if (place <= 0) return `${sign}0.${"0".repeat(-place)}${digits}`;
  if (digits.length <= place) return sign + digits + "0".repeat(place - digits.length);
  return `${sign}${digits.slice(0, place)}.${digits.slice(place)}`;
}

/** As model files have it: always with a fraction or a power of ten. */
export function jsonNumber(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const { sign, digits, place } = digitsOf(value);
  if (place > -5 && place <= 16) {
    const text = plain(value);
    return text.includes(".") ? text : `${text}.0`;
  }
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
  return `${sign}${mantissa}e${place - 1}`;
}

/** So many digits after the point; exact halves go to the even digit. */
export function fixed(value: number, digits: number): string {
  const rounded = value.toFixed(digits);
  if (Math.abs(value) >= 1e21) return rounded;
  const exact = Math.abs(value).toFixed(100);
  const cut = exact.indexOf(".") + 1 + digits;
  if (!/^50*$/.test(exact.slice(cut))) return rounded;
  const low = exact.slice(0, cut).replace(/\.$/, "");
  const even = Number(low[low.length - 1]) % 2 === 0;
  return even ? (value < 0 ? `-${low}` : low) : rounded;
}

/** Four digits that say something, no trailing zeros, no powers of ten where they can be helped. */
export function readable(value: number): string {
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (!(size >= 1e-6 && size < 1e6)) return value.toExponential(2).replace("e+", "e");
  const text = fixed(value, Math.max(3 - Math.floor(Math.log10(size)), 0));
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/** `45222` becomes `45,222`. */
export function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 point`, `1,500 points`. */
export function counted(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A cell of a table: four digits after the point, as `select` shows them; whole counts with commas. */
export function cell(value: number | null | undefined, isCount = false): string {
  if (value === null || value === undefined) return "–";
  if (isCount) return Number.isInteger(value) ? grouped(value) : fixed(value, 1);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.00005 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return fixed(value, 4);
}
