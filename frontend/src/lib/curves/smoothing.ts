// SPDX-License-Identifier: Apache-2.0
// Smoothing of curves, and curves of many jobs on one grid.

/**
 * The exponential moving average of the values, corrected for its start. weight: 0 (as they are) to below 1.
 * Gaps stay gaps, and a value that is no number does not spread.
 */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...values];
  let [mean, share] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    mean = weight * mean + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return mean / share;
  });
}

export interface Line {
  x: readonly number[];
  y: readonly (number | null)[];
}

const MOST_EXACT = 20; // lines whose points are all kept
const GRID = 500; // positions for more of them

/** Columns for one chart: the positions, then each line's values there, null where it has none. x of each line rises. */
export function aligned(lines: readonly Line[]): [number[], ...(number | null)[][]] {
  if (lines.length <= MOST_EXACT) {
    const positions = [...new Set(lines.flatMap(({ x }) => x))].sort((a, b) => a - b);
    const columns = lines.map(({ x, y }) => {
      const byPosition = new Map(x.map((at, index) => [at, y[index] ?? null]));
      return positions.map((at) => byPosition.get(at) ?? null);
    });
    return [positions, ...columns];
  }
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    low = Math.min(low, x[0] ?? Infinity);
    high = Math.max(high, x.at(-1) ?? -Infinity);
  }
  if (low > high) return [[], ...lines.map(() => [])];
  const grid = Array.from({ length: GRID }, (_, n) => low + ((high - low) * n) / (GRID - 1));
  return [grid, ...lines.map((line) => interpolated(line, grid))];
}

/** The line's values at rising positions, between its points; null before its first and behind its last. */
export function interpolated({ x, y }: Line, positions: readonly number[]): (number | null)[] {
  let next = 0;
  return positions.map((at) => {
    while (next < x.length && (x[next] ?? Infinity) < at) next += 1;
    const [right, left] = [x[next], x[next - 1]];
    if (right === at) return y[next] ?? null;
    const [before, after] = [y[next - 1], y[next]];
    if (right === undefined || left === undefined || before == null || after == null) return null;
    return before + ((after - before) * (at - left)) / (right - left);
  });
}
