// SPDX-License-Identifier: Apache-2.0
// Trials in numbers: what they reached, who is the best, and where a value lies on an axis.
import { t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import type { Study, Trial } from "@/api/types";
import { type Scale, scaleOf } from "@/components/chart/scale";
import { STUDY_STATES } from "@/domain/states/studyState";
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

/** In place of a chart, while there is nothing to draw. */
export function noResultText({ state }: Pick<Study, "state">): string {
  return STUDY_STATES[state].isOver ? t`No trial reached the first rung.` : t`No trial has reached the first rung yet.`;
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
  scale: Scale;
  /** Of a choice: its options, whose places are its values. */
  options?: string[];
  /** null: the trial has no such value. */
  valueOf: (trial: Trial) => number | null;
}

/** An axis for each hyperparameter of the space, and for what trials reached: at the first rung, where all can be compared, and last. */
export function axesOf(study: Study, trials: readonly Trial[]): Axis[] {
  const own = Object.entries(study.space).map(([name, values]) => axisOf(name, isRecord(values) ? values : {}));
  if (trials.every(({ results }) => results.length === 0)) return own;
  const measured = (name: string, valueOf: Axis["valueOf"]): Axis => ({ name, scale: scaleOf(trials.map(valueOf), false), valueOf });
  const last = (trial: Trial) => lastValue(trial) ?? null;
  if (study.rungs.length < 2) return [...own, measured(study.metric, last)];
  const first = (trial: Trial) => trial.results[0]?.value ?? null;
  return [...own, measured(t`${study.metric} (first rung)`, first), measured(t`${study.metric} (last)`, last)];
}

function axisOf(name: string, values: Record<string, unknown>): Axis {
  if (Array.isArray(values.choice)) {
    const options: unknown[] = values.choice;
    return {
      name,
      options: options.map(shown),
      scale: scaleOf([0, options.length - 1], false),
      valueOf: (trial) => {
        const place = options.indexOf(trial.parameters[name]);
        return place < 0 ? null : place;
      },
    };
  }
  const range = [values.uniform, values.log_uniform, values.int].find(Array.isArray) as number[] | undefined;
  const { low, high, isLog } = scaleOf(range ?? [0, 1], values.log_uniform !== undefined || values.log === true);
  return {
    name,
    scale: { low, high, isLog },
    valueOf: (trial) => {
      const value = trial.parameters[name];
      return typeof value === "number" ? Math.min(high, Math.max(low, value)) : null;
    },
  };
}
