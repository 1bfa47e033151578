// SPDX-License-Identifier: Apache-2.0
// Where values lie between the ends of an axis, linear or logarithmic, and round places on it.
import { valueTicks } from "@/lib/curves/ticks";

export interface Scale {
  low: number;
  high: number;
  isLog: boolean;
}

/** Values that reach further than this, such as learning rates, are crowded at one end of a linear axis. */
const DECADES_OF_LINEAR = 2;

/** Both ends of the finite values; null: there are none. */
function endsOf(values: readonly (number | null)[]): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? null : [low, high];
}

/** Whether all values have a place on a logarithmic axis, and not the same one. */
export function allowsLog(values: readonly (number | null)[]): boolean {
  const ends = endsOf(values);
  return ends !== null && ends[0] > 0 && ends[1] > ends[0];
}

/** Whether a linear axis would crowd them. */
export function suitsLog(values: readonly (number | null)[]): boolean {
  const [low, high] = endsOf(values) ?? [1, 1];
  return low > 0 && Math.log10(high) - Math.log10(low) > DECADES_OF_LINEAR;
}

/** From the least to the greatest value; linear where a value has no place on a logarithmic axis. */
export function scaleOf(values: readonly (number | null)[], isLog: boolean): Scale {
  const [low, high] = endsOf(values) ?? [0, 0];
  return { low, high, isLog: isLog && allowsLog(values) };
}

/** 0 at the lower end, 1 at the upper one; in the middle where both are the same. */
export function shareOf({ low, high, isLog }: Scale, value: number): number {
  if (high === low) return 0.5;
  if (!isLog) return (value / 2 - low / 2) / (high / 2 - low / 2); // halves: a difference may be too large for a number
  return (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low));
}

export function valueAt({ low, high, isLog }: Scale, share: number): number {
  if (share <= 0) return low;
  if (share >= 1) return high;
  if (!isLog) return low * (1 - share) + high * share;
  return Math.exp(Math.log(low) * (1 - share) + Math.log(high) * share);
}

/** About `n` round places: on a logarithmic axis powers of ten, or where these are too few their multiples too. */
export function ticksOf({ low, high, isLog }: Scale, n: number): number[] {
  if (!isLog) return valueTicks(low, high, n);
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const decades = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const within = (found: number[]) => found.filter((value) => low <= value && value <= high);
  const powers = within(decades.map((power) => Number(`1e${power}`)));
  const every = Math.ceil(powers.length / Math.max(1, n));
  if (powers.length >= 2) return powers.filter((_, at) => at % every === 0);
  return within(decades.flatMap((power) => [1, 2, 5].map((multiple) => Number(`${multiple}e${power}`))));
}
