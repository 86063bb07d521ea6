// Formats numbers in the same way as the command.

/** Sign, shortest digits that give the same number when read, and exponent: 0.d1d2… × 10^place. */
function digitsOf(value: number): { sign: string; digits: string; place: number } {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", exponent = "0"] = Math.abs(value).toExponential().split("e");
  return { sign, digits: mantissa.replace(".", ""), place: Number(exponent) + 1 };
}

/** All digits without an exponent, as in `show --csv`. */
export function plain(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const { sign, digits, place } = digitsOf(value);
  if (place <= 0) return `${sign}0.${"0".repeat(-place)}${digits}`;
  if (digits.length <= place) return sign + digits + "0".repeat(place - digits.length);
  return `${sign}${digits.slice(0, place)}.${digits.slice(place)}`;
}

/** The format of model files: always with a fraction or an exponent. */
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

/** A fixed number of digits after the decimal point; exact halves are rounded to the even digit. */
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

/** Four significant digits without trailing zeros; an exponent only for very small and very large numbers. */
export function readable(value: number): string {
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (!(size >= 1e-6 && size < 1e6)) return value.toExponential(2).replace("e+", "e");
  const text = fixed(value, Math.max(3 - Math.floor(Math.log10(size)), 0));
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/** `45222` becomes `45,222`. */
export function grouped(n: number | string): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 model`, `1,500 models`. */
export function counted(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A number in the unit of the target: commas, a fixed number of digits after the decimal point, no minus before 0. */
export function inTarget(value: number, digits: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential(2).replace("e+", "e");
  const [whole = "", rest] = fixed(Math.abs(value), digits).split(".");
  const text = `${grouped(whole)}${rest === undefined ? "" : `.${rest}`}`;
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
}

/** A table cell: four digits after the decimal point, as `select` shows them; whole counts with commas. */
export function cell(value: number | null | undefined, isCount = false): string {
  if (value === null || value === undefined) return "–";
  if (isCount) return Number.isInteger(value) ? grouped(value) : fixed(value, 1);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.00005 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return fixed(value, 4);
}
