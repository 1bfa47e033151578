// SPDX-License-Identifier: Apache-2.0
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

// made once: with options toLocaleString() makes one each time, which takes as long as writing a hundred numbers
const GROUPED = new Intl.NumberFormat("en");
const FOUR_DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** Every whole number below it is read at a glance when its digits are grouped. */
const MOST_GROUPED = 1e12;

/** Grouped digits; four significant ones when not whole; "1.23e-5", "1e294" beyond; "–" when unknown. */
export function number(x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (Number.isInteger(x)) return size < MOST_GROUPED ? GROUPED.format(x) : exponential(x);
  if (size < 1e-4 || size >= 1e7) return exponential(x);
  return FOUR_DIGITS.format(x);
}

/** Rounded to so many significant digits. */
export function significant(x: number, digits: number): number {
  return Number(x.toPrecision(digits));
}

function exponential(x: number): string {
  return significant(x, 3).toExponential().replace("e+", "e");
}

/** "82 %" of 0.82. */
export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}
