// SPDX-License-Identifier: Apache-2.0
// How the best value of a study fell or rose while its trials brought results.
import type { Study, Trial } from "@/api/types";

/** What the curve is drawn over: how many trials had a result, or how many GPU-hours the study had used. */
export type Abscissa = "trials" | "gpu_hours";

export interface Improvement {
  /** In the unit of the abscissa. */
  at: number;
  value: number;
  /** The trial's number. */
  trial: number;
  /** Epochs, or steps, after which it was measured. */
  epochs: number;
}

export interface BestSoFar {
  improvements: Improvement[];
  /** Where the newest result is. */
  end: number;
}

interface Result {
  trial: number;
  value: number;
  epochs: number;
  at: number;
  gpuHours: number | null;
}

/** Each result that was better than all before it, at any rung. Without GPU-hours: results of earlier releases. */
export function bestSoFar(study: Pick<Study, "direction">, trials: readonly Trial[], abscissa: Abscissa): BestSoFar {
  const improvements: Improvement[] = [];
  const seen = new Set<number>();
  let end = 0;
  for (const { trial, value, epochs, gpuHours } of inOrder(trials)) {
    seen.add(trial);
    const at = abscissa === "trials" ? seen.size : gpuHours;
    if (at === null) continue;
    end = Math.max(end, at);
    const last = improvements.at(-1)?.value;
    const isBetter = last === undefined || (study.direction === "maximize" ? value > last : value < last);
    if (isBetter) improvements.push({ at: end, value, trial, epochs });
  }
  return { improvements, end };
}

/** As they were reported; those of earlier releases, which do not say when, by trial before all others. */
function inOrder(trials: readonly Trial[]): Result[] {
  const found = trials.flatMap(({ number, results }) =>
    results.map(({ value, epochs, at, study_gpu_hours }) => ({
      trial: number,
      value,
      epochs,
      at: at === undefined ? Number.NEGATIVE_INFINITY : Date.parse(at),
      gpuHours: study_gpu_hours,
    })),
  );
  return found.filter(({ value }) => Number.isFinite(value)).sort((a, b) => (a.at === b.at ? a.trial - b.trial : a.at < b.at ? -1 : 1));
}
