// SPDX-License-Identifier: Apache-2.0
// Round places on an axis, of values and of times.
const SECOND_MS = 1000;
const TIME_STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * SECOND_MS);

/** About `n` of them within [low, high]: multiples of 1, 2 or 5 times a power of ten. */
export function valueTicks(low: number, high: number, n: number): number[] {
  const raw = (high - low) / Math.max(1, n);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first;
  return Array.from({ length: count + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** At most `n` of them within the times, at full minutes, hours or days of the reader's own clock. */
export function timeTicks(from_ms: number, to_ms: number, n: number): number[] {
  const step = TIME_STEPS_MS.find((ms) => (to_ms - from_ms) / ms <= n) ?? (to_ms - from_ms) / n;
  const offset = new Date(from_ms).getTimezoneOffset() * 60 * SECOND_MS;
  const first = Math.ceil((from_ms - offset) / step);
  const count = Math.floor((to_ms - offset) / step) - first;
  return Array.from({ length: Math.max(0, count + 1) }, (_, index) => (first + index) * step + offset);
}
