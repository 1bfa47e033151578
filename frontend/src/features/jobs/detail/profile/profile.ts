// SPDX-License-Identifier: Apache-2.0
// The parts of a step's time and the histogram of staleness, from what an attempt measured.
import type { Speed, WorkerStepTime } from "@/api/types";
import { POD_METRICS } from "@/domain/pods/podMetric";

export interface StepPart {
  name: "compute" | "sync" | "wait" | "input";
  label: string;
  seconds: number;
  share: number;
}

export interface HistogramBar {
  label: string;
  share: number;
}

const MOST_BARS = 12;
const SMALLEST_SHARE = 0.0005;

/** Those that take any time, in the order of a step; shares of the step, 0 to 1. */
export function stepParts(
  speed: Pick<Speed, "step_s" | "compute_s" | "sync_s" | "wait_s" | "input_s">,
): StepPart[] {
  const parts: [StepPart["name"], string, number][] = [
    ["input", POD_METRICS.input_s.label, speed.input_s],
    ["compute", POD_METRICS.compute_s.label, speed.compute_s],
    ["sync", POD_METRICS.sync_s.label, speed.sync_s - speed.wait_s],
    ["wait", POD_METRICS.wait_s.label, speed.wait_s],
  ];
  const whole = parts.reduce((sum, [, , seconds]) => sum + seconds, 0);
  return parts
    .map(([name, label, seconds]) => ({ name, label, seconds, share: whole > 0 ? seconds / whole : 0 }))
    .filter(({ share }) => share >= SMALLEST_SHARE);
}

/** A bar for each staleness up to the largest; very stale ones together. */
export function stalenessBars(counts: readonly number[]): HistogramBar[] {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return [];
  const shown = counts.length > MOST_BARS ? counts.slice(0, MOST_BARS - 1) : counts;
  const bars = shown.map((n, staleness) => ({ label: `${staleness}`, share: n / total }));
  const rest = counts.slice(shown.length).reduce((sum, n) => sum + n, 0);
  return shown.length < counts.length ? [...bars, { label: `${shown.length}+`, share: rest / total }] : bars;
}

/** Those for which the others wait longest come first. */
export function slowestFirst(workers: readonly WorkerStepTime[]): WorkerStepTime[] {
  return [...workers].sort((one, other) => other.slowdown - one.slowdown || one.worker - other.worker);
}
