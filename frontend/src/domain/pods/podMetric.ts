// SPDX-License-Identifier: Apache-2.0
// What pods measure of themselves: each metric's label, unit and meaning, and when there is anything to show of it.
import { t } from "@lingui/core/macro";

import type { Speed } from "@/api/types";
import { bytes, number, percent, significant } from "@/lib/quantities";
import { shortDuration } from "@/lib/time";

/** Which measurement it is of; all else in a measurement is a metric. */
type Identity =
  | "attempt_number"
  | "mode"
  | "n_workers"
  | "n_servers"
  | "n_nodes"
  | "n_racks"
  | "gpu_type"
  | "batch_size"
  | "n_steps"
  | "is_shared"
  | "n_colocated_steps"
  | "updated_at";

/** Those that the dashboard draws by itself; all others come with their title, unit and meaning, in `measured`. */
export type PodMetric = Exclude<keyof Speed, Identity | "measured">;

type MeasuredUnit = Speed["measured"][number]["unit"];

/** How a value of each unit is written. */
export const UNITS: Record<MeasuredUnit, (value: number) => string> = {
  bytes,
  bytes_per_second: (value) => t`${bytes(value)}/s`,
  count: number,
  examples: (value) => t`${number(significant(value, 2))} examples`,
  seconds: shortDuration,
  share: percent,
};

interface MetricDeclaration {
  label: string;
  about: string;
  isShown: (speed: Speed) => boolean;
  text: (speed: Speed) => string;
}

export const POD_METRICS: Record<PodMetric, MetricDeclaration> = {
  step_s: {
    label: t`Step`,
    about: t`Learning from one batch: its examples are read, gradients computed and synchronised.`,
    isShown: () => true,
    text: ({ step_s }) => shortDuration(step_s),
  },
  input_s: {
    label: t`Reading`,
    about: t`Time in which a worker waits for its examples. Much of it: the data is too slow.`,
    isShown: ({ input_s }) => input_s > 0,
    text: ({ input_s }) => shortDuration(input_s),
  },
  compute_s: {
    label: t`Computing`,
    about: t`Time in which gradients are computed and applied.`,
    isShown: ({ compute_s }) => compute_s > 0,
    text: ({ compute_s }) => shortDuration(compute_s),
  },
  sync_s: {
    label: t`Synchronising`,
    about: t`Time in which gradients or weights are exchanged. Much of it: a larger batch helps.`,
    isShown: ({ sync_s }) => sync_s > 0,
    text: ({ sync_s }) => shortDuration(sync_s),
  },
  wait_s: {
    label: t`Waiting for others`,
    about: t`Time in which a worker is done and others are not.`,
    isShown: ({ wait_s }) => wait_s > 0,
    text: ({ wait_s }) => shortDuration(wait_s),
  },
  staleness: {
    label: t`Staleness`,
    about: t`How many versions the weights had advanced when a gradient arrived. 0 is fresh; the larger, the less it helps.`,
    isShown: ({ staleness }) => staleness.length > 1,
    text: ({ staleness }) => t`${number(significant(meanStaleness(staleness), 2))} on average`,
  },
  n_discarded: {
    label: t`Discarded gradients`,
    about: t`Gradients that arrived too late to be used.`,
    isShown: ({ n_discarded }) => n_discarded > 0,
    text: ({ n_discarded }) => number(n_discarded),
  },
};

/** counts[s]: gradients that were s versions late. */
export function meanStaleness(counts: readonly number[]): number {
  const total = counts.reduce((sum, n) => sum + n, 0);
  return total === 0 ? 0 : counts.reduce((sum, n, staleness) => sum + n * staleness, 0) / total;
}

const ORDER = Object.values(POD_METRICS);

/** The figures to show of a measurement, by name. */
export function metricFacts({ measured }: Speed): [name: string, value: string][] {
  return measured.map(({ title, unit, value }) => [title, UNITS[unit](value)]);
}

/** What each metric means, of those that are shown. */
export function metricMeanings(speed: Speed): [name: string, about: string][] {
  const own = ORDER.filter(({ isShown }) => isShown(speed)).map(({ label, about }): [string, string] => [label, about]);
  return [...own, ...speed.measured.map(({ title, about }): [string, string] => [title, about])];
}
