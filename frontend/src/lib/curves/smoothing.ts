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
  const grid = gridOf(lines);
  return [grid, ...lines.map((line) => interpolated(line, grid))];
}

/** What the scales of a chart need of hundreds of lines: positions, and the lowest and the highest value of all lines there. */
export function envelope(lines: readonly Line[]): [number[], (number | null)[], (number | null)[]] {
  const grid = gridOf(lines);
  const low: (number | null)[] = grid.map(() => null);
  const high: (number | null)[] = grid.map(() => null);
  for (const line of lines) {
    between(line, grid, (value, place) => {
      if (value === null) return;
      const [least, most] = [low[place] ?? null, high[place] ?? null];
      if (least === null || value < least) low[place] = value;
      if (most === null || value > most) high[place] = value;
    });
  }
  return [grid, low, high];
}

/** Positions from the first point of all lines to the last one. */
function gridOf(lines: readonly Line[]): number[] {
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    low = Math.min(low, x[0] ?? Infinity);
    high = Math.max(high, x.at(-1) ?? -Infinity);
  }
  if (low > high) return [];
  return Array.from({ length: GRID }, (_, n) => low + ((high - low) * n) / (GRID - 1));
}

/** The line's values at rising positions, between its points; null before its first and behind its last. */
export function interpolated(line: Line, positions: readonly number[]): (number | null)[] {
  const values: (number | null)[] = [];
  between(line, positions, (value) => values.push(value));
  return values;
}

function between({ x, y }: Line, positions: readonly number[], found: (value: number | null, place: number) => void): void {
  let next = 0;
  for (let place = 0; place < positions.length; place += 1) {
    const at = positions[place] ?? NaN;
    while (next < x.length && (x[next] ?? Infinity) < at) next += 1;
    const right = x[next];
    if (right === at) {
      found(y[next] ?? null, place);
      continue;
    }
    const left = x[next - 1];
    const before = y[next - 1];
    const after = y[next];
    if (right === undefined || left === undefined || before == null || after == null) found(null, place);
    else found(before + ((after - before) * (at - left)) / (right - left), place);
  }
}
