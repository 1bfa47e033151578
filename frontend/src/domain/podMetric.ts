// What pods measure of themselves: each metric's label, unit and meaning, and when there is anything to show of it.
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
  | "updated_at";

export type PodMetric = Exclude<keyof Speed, Identity>;

interface MetricDeclaration {
  label: string;
  about: string;
  /** step: a part of the step's time. fact: a figure of its own. chart: drawn by a part of its own. */
  shownAs: "step" | "fact" | "chart";
  isShown: (speed: Speed) => boolean;
  text: (speed: Speed) => string;
}

export const POD_METRICS: Record<PodMetric, MetricDeclaration> = {
  step_s: {
    label: "Step",
    about: "Learning from one batch: its examples are read, gradients computed and synchronised.",
    shownAs: "chart",
    isShown: () => true,
    text: ({ step_s }) => shortDuration(step_s),
  },
  input_s: {
    label: "Reading",
    about: "Time in which a worker waits for its examples. Much of it: the data is too slow.",
    shownAs: "step",
    isShown: ({ input_s }) => input_s > 0,
    text: ({ input_s }) => shortDuration(input_s),
  },
  compute_s: {
    label: "Computing",
    about: "Time in which gradients are computed and applied.",
    shownAs: "step",
    isShown: ({ compute_s }) => compute_s > 0,
    text: ({ compute_s }) => shortDuration(compute_s),
  },
  sync_s: {
    label: "Synchronising",
    about: "Time in which gradients or weights are exchanged. Much of it: a larger batch helps.",
    shownAs: "step",
    isShown: ({ sync_s }) => sync_s > 0,
    text: ({ sync_s }) => shortDuration(sync_s),
  },
  wait_s: {
    label: "Waiting for others",
    about: "Time in which a worker is done and others are not.",
    shownAs: "step",
    isShown: ({ wait_s }) => wait_s > 0,
    text: ({ wait_s }) => shortDuration(wait_s),
  },
  noise_scale: {
    label: "Gradient noise scale",
    about: "Up to about this batch size larger batches save steps; beyond it they only cost more.",
    shownAs: "fact",
    isShown: ({ noise_scale }) => noise_scale !== null,
    text: ({ noise_scale }) => (noise_scale === null ? "–" : `${number(significant(noise_scale, 2))} examples`),
  },
  gpu_utilisation: {
    label: "GPU utilisation",
    about: "The part of the time in which the GPU computed anything.",
    shownAs: "fact",
    isShown: ({ gpu_utilisation }) => gpu_utilisation !== null,
    text: ({ gpu_utilisation }) => (gpu_utilisation === null ? "–" : percent(gpu_utilisation)),
  },
  gpu_memory_bytes: {
    label: "GPU memory",
    about: "GPU memory that one worker held.",
    shownAs: "fact",
    isShown: ({ gpu_memory_bytes }) => gpu_memory_bytes !== null,
    text: ({ gpu_memory_bytes }) => bytes(gpu_memory_bytes),
  },
  peak_memory_bytes: {
    label: "Peak memory",
    about: "The most main memory that one worker has needed.",
    shownAs: "fact",
    isShown: ({ peak_memory_bytes }) => peak_memory_bytes > 0,
    text: ({ peak_memory_bytes }) => bytes(peak_memory_bytes),
  },
  bytes_sent: {
    label: "Sent per step",
    about: "What one worker's network connections sent, by the kernel's count.",
    shownAs: "fact",
    isShown: ({ bytes_sent }) => bytes_sent > 0,
    text: ({ bytes_sent }) => bytes(bytes_sent),
  },
  bytes_received: {
    label: "Received per step",
    about: "What one worker's network connections received, by the kernel's count.",
    shownAs: "fact",
    isShown: ({ bytes_received }) => bytes_received > 0,
    text: ({ bytes_received }) => bytes(bytes_received),
  },
  staleness: {
    label: "Staleness",
    about: "How many versions the weights had advanced when a gradient arrived. 0 is fresh; the larger, the less it helps.",
    shownAs: "chart",
    isShown: ({ staleness }) => staleness.length > 1,
    text: ({ staleness }) => `${number(significant(meanStaleness(staleness), 2))} on average`,
  },
  n_discarded: {
    label: "Discarded gradients",
    about: "Gradients that arrived too late to be used.",
    shownAs: "chart",
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
export function metricFacts(speed: Speed): [name: string, value: string][] {
  return ORDER.filter(({ shownAs, isShown }) => shownAs === "fact" && isShown(speed)).map((metric) => [
    metric.label,
    metric.text(speed),
  ]);
}

/** What each metric means, of those that are shown. */
export function metricMeanings(speed: Speed): [name: string, about: string][] {
  return ORDER.filter(({ isShown }) => isShown(speed)).map(({ label, about }) => [label, about]);
}
