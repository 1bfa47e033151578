// SPDX-License-Identifier: Apache-2.0
// The curves of a job as pure data: points of all attempts merged into the effective curve, grouped for charts.

export interface CurvePoint {
  step: number;
  epoch: number;
  value: number;
  at: string;
  attempt_number: number;
}

export interface KeyedPoint extends CurvePoint {
  key: string;
}

/** Steps, both ends included. */
export interface StepRange {
  first: number;
  last: number;
}

/** Metric key -> its effective points, by rising step. */
export type Curves = ReadonlyMap<string, readonly CurvePoint[]>;

export const NO_CURVES: Curves = new Map();

/**
 * The effective curves of both: the latest attempt wins from its first step (of any metric) on.
 * Order, repeats and the cutting into batches make no difference, so REST and the live stream may overlap.
 * A key without a change keeps its array.
 */
export function mergePoints(curves: Curves, fresh: Iterable<KeyedPoint>): Curves {
  const freshByKey = groupBy(fresh, (point) => point.key);
  if (freshByKey.size === 0) return curves;
  const superseded = supersededFrom([...curves.values(), ...freshByKey.values()]);
  const merged = new Map<string, readonly CurvePoint[]>();
  for (const key of new Set([...curves.keys(), ...freshByKey.keys()])) {
    const known = curves.get(key) ?? [];
    const points = effective(known, freshByKey.get(key) ?? [], superseded);
    if (points.length > 0) merged.set(key, points);
  }
  return merged;
}

/** Attempt -> the step from which a later attempt's points replace its own. */
function supersededFrom(groups: Iterable<readonly CurvePoint[]>): Map<number, number> {
  const firstStep = new Map<number, number>();
  for (const points of groups) {
    for (const { attempt_number: attempt, step } of points) {
      firstStep.set(attempt, Math.min(step, firstStep.get(attempt) ?? Infinity));
    }
  }
  const from = new Map<number, number>();
  let lowest = Infinity;
  for (const [attempt, step] of [...firstStep].sort(([a], [b]) => b - a)) {
    from.set(attempt, lowest);
    lowest = Math.min(lowest, step);
  }
  return from;
}

function effective(
  known: readonly CurvePoint[],
  fresh: readonly CurvePoint[],
  superseded: ReadonlyMap<number, number>,
): readonly CurvePoint[] {
  const counts = (point: CurvePoint) => point.step < (superseded.get(point.attempt_number) ?? Infinity);
  const kept = known.every(counts) ? known : known.filter(counts);
  const steps = new Set(kept.map((point) => point.step));
  const added: CurvePoint[] = [];
  for (const point of fresh) {
    if (!counts(point) || steps.has(point.step)) continue;
    steps.add(point.step);
    const { step, epoch, value, at, attempt_number } = point;
    added.push({ step, epoch, value, at, attempt_number });
  }
  if (added.length === 0) return kept;
  return [...kept, ...added].sort((a, b) => a.step - b.step);
}

/** Whether the first of two points is the newer one: of a later attempt, or of a later step of the same. */
export function isNewer(
  one: Pick<CurvePoint, "attempt_number" | "step">,
  other: Pick<CurvePoint, "attempt_number" | "step">,
): boolean {
  return one.attempt_number === other.attempt_number
    ? one.step > other.step
    : one.attempt_number > other.attempt_number;
}

export interface CurveGroup {
  /** What the curves share: the key after its first slash ("loss"). */
  name: string;
  keys: string[];
}

/** One group per chart: train/loss and eval/loss share one. Loss first, then by name. */
export function groupKeys(keys: Iterable<string>): CurveGroup[] {
  const groups = groupBy([...keys].sort(), (key) => key.slice(key.indexOf("/") + 1));
  return [...groups]
    .map(([name, members]) => ({ name, keys: members.sort((a, b) => rank(a) - rank(b)) }))
    .sort((a, b) => Number(b.name === "loss") - Number(a.name === "loss") || a.name.localeCompare(b.name));
}

function groupBy<T>(items: Iterable<T>, name: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(name(item));
    if (group === undefined) groups.set(name(item), [item]);
    else group.push(item);
  }
  return groups;
}

function rank(key: string): number {
  return key.startsWith("train/") ? 0 : 1;
}

/** Columns for one chart: the steps of all curves, then each curve's values, null where it has none. */
export function columns(curves: readonly (readonly CurvePoint[])[]): [number[], ...(number | null)[][]] {
  const steps = [...new Set(curves.flatMap((points) => points.map((point) => point.step)))].sort((a, b) => a - b);
  const values = curves.map((points) => {
    const byStep = new Map(points.map((point) => [point.step, point.value]));
    return steps.map((step) => byStep.get(step) ?? null);
  });
  return [steps, ...values];
}

export interface Summary {
  latest: CurvePoint;
  lowest: number;
  highest: number;
}

export function summary(points: readonly CurvePoint[]): Summary | null {
  const latest = points.at(-1);
  if (latest === undefined) return null;
  let [lowest, highest] = [latest.value, latest.value];
  for (const { value } of points) {
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
  }
  return { latest, lowest, highest };
}
