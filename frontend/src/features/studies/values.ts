// SPDX-License-Identifier: Apache-2.0
// Trials in numbers: what they reached, who is the best, and where a value lies on an axis.
import { isRecord } from "@/api/client";
import type { Study, Trial } from "@/api/types";
import { number } from "@/lib/quantities";

/** What the trial reached last; undefined before its first result. */
export function lastValue(trial: Pick<Trial, "results">): number | undefined {
  return trial.results.at(-1)?.value;
}

/** The best first: by the rung that was reached, then by the value there. */
export function ranked(study: Pick<Study, "direction">, trials: readonly Trial[]): Trial[] {
  const sign = study.direction === "maximize" ? -1 : 1;
  return [...trials].sort(
    (a, b) =>
      b.results.length - a.results.length ||
      sign * ((lastValue(a) ?? 0) - (lastValue(b) ?? 0)) ||
      a.number - b.number,
  );
}

export function shown(value: unknown): string {
  return typeof value === "number" ? number(value) : String(value);
}

export function parametersText(parameters: Record<string, unknown>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name} ${shown(value)}`)
    .join(", ");
}

export interface Axis {
  name: string;
  /** The label of each end, the lower one first. */
  ends: [string, string];
  /** 0 at the lower end, 1 at the upper one; undefined where the trial has no such value. */
  at: (trial: Trial) => number | undefined;
}

/** An axis for each hyperparameter of the space, and one for the metric at the first rung. */
export function axesOf(study: Study, trials: readonly Trial[]): Axis[] {
  const own = Object.entries(study.space).map(([name, values]) => axisOf(name, isRecord(values) ? values : {}));
  const found = trials.map((trial) => trial.results[0]?.value).filter((value) => value !== undefined);
  const [low, high] = [Math.min(...found), Math.max(...found)];
  if (found.length === 0) return own;
  const metric: Axis = {
    name: study.metric,
    ends: [shown(low), shown(high)],
    at: (trial) => (trial.results[0] ? part(trial.results[0].value, low, high) : undefined),
  };
  return [...own, metric];
}

function axisOf(name: string, values: Record<string, unknown>): Axis {
  if (Array.isArray(values.choice)) {
    const options: unknown[] = values.choice;
    return {
      name,
      ends: [shown(options[0]), shown(options.at(-1))],
      at: (trial) => part(options.indexOf(trial.parameters[name]), 0, options.length - 1),
    };
  }
  const range = [values.uniform, values.log_uniform, values.int].find(Array.isArray) as number[] | undefined;
  const [low = 0, high = 1] = range ?? [];
  const isLog = values.log_uniform !== undefined || values.log === true;
  const scale = (x: number) => (isLog ? Math.log(x) : x);
  return {
    name,
    ends: [shown(low), shown(high)],
    at: (trial) => {
      const value = trial.parameters[name];
      return typeof value === "number" ? part(scale(value), scale(low), scale(high)) : undefined;
    },
  };
}

function part(x: number, low: number, high: number): number {
  return high === low ? 0.5 : Math.min(1, Math.max(0, (x - low) / (high - low)));
}
