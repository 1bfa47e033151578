// Parts of a step's time and bars of the staleness histogram, from what an attempt measured.
import type { Speed } from "@/api/types";

export interface Part {
  name: "compute" | "sync" | "wait" | "input";
  label: string;
  seconds: number;
  share: number;
}

export interface Bar {
  label: string;
  share: number;
}

const MOST_BARS = 12;

/** Those that take any time, in the order of a step; shares of the step, 0 to 1. */
export function partsOf(speed: Pick<Speed, "step_s" | "compute_s" | "sync_s" | "wait_s" | "input_s">): Part[] {
  const parts: [Part["name"], string, number][] = [
    ["input", "Reading", speed.input_s],
    ["compute", "Computing", speed.compute_s],
    ["sync", "Synchronising", speed.sync_s - speed.wait_s],
    ["wait", "Waiting for others", speed.wait_s],
  ];
  const whole = parts.reduce((sum, [, , seconds]) => sum + seconds, 0);
  return parts
    .map(([name, label, seconds]) => ({ name, label, seconds, share: whole > 0 ? seconds / whole : 0 }))
    .filter(({ share }) => share >= 0.0005);
}

/** A bar for each staleness up to the largest; very stale ones together. */
export function barsOf(counts: readonly number[]): Bar[] {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return [];
  const shown = counts.length > MOST_BARS ? counts.slice(0, MOST_BARS - 1) : counts;
  const bars = shown.map((n, staleness) => ({ label: `${staleness}`, share: n / total }));
  const rest = counts.slice(shown.length).reduce((sum, n) => sum + n, 0);
  return shown.length < counts.length ? [...bars, { label: `${shown.length}+`, share: rest / total }] : bars;
}

export function meanStaleness(counts: readonly number[]): number {
  const total = counts.reduce((sum, n) => sum + n, 0);
  return total === 0 ? 0 : counts.reduce((sum, n, staleness) => sum + n * staleness, 0) / total;
}

/** What each word means, of those that the card shows for this measurement. */
export function explanationsOf(speed: Speed): [word: string, about: string][] {
  const all: [boolean, string, string][] = [
    [true, "Step", "Learning from one batch: its examples are read, gradients computed, and workers brought to agree."],
    [speed.input_s > 0, "Reading", "Time in which a worker waits for its examples. Much of it: the data is too slow."],
    [speed.sync_s > 0, "Synchronising", "Time in which gradients or weights travel. Much of it: a larger batch helps."],
    [speed.wait_s > 0, "Waiting for others", "Time in which a worker is done and others are not."],
    [
      speed.noise_scale !== null,
      "Gradient noise scale",
      "Up to about this batch size larger batches save steps; beyond it they only cost more.",
    ],
    [speed.peak_memory_bytes > 0, "Memory at most", "The most that one worker needed so far."],
    [speed.bytes_sent > 0, "Sent and received a step", "What one worker's network connections carried, by the kernel's count."],
    [speed.gpu_utilisation !== null, "GPU in use", "The part of the time in which the GPU computed anything."],
    [
      speed.staleness.length > 1,
      "Staleness",
      "How many versions the weights had moved on when a gradient arrived. 0 is fresh; the larger, the less it helps.",
    ],
  ];
  return all.filter(([isShown]) => isShown).map(([, word, about]) => [word, about]);
}
