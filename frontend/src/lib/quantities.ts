// Sizes and numbers as people read them.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
export const GIB = 1024 ** 3;

/** "1.5 MiB"; "–" when unknown. */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : 1;
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })} ${UNITS[unit] ?? ""}`;
}

/** Grouped digits; four significant ones when not whole; "–" when unknown. */
export function number(x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Number.isInteger(x)) return x.toLocaleString("en");
  if (x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e7)) return x.toExponential(2);
  return x.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** "3 versions", "1 version". */
export function count(n: number, noun: string): string {
  return `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** "82 %" of 0.82. */
export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}
