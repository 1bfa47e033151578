// SPDX-License-Identifier: Apache-2.0
// What inspection counted in clips of audio; anything else is no statistics.
import { isRecord } from "@/api/client";

export interface Counted {
  value: string | number;
  n: number;
}

export interface AudioStatistics {
  nClips: number;
  totalS: number;
  minS: number;
  medianS: number;
  maxS: number;
  /** null: all clips have one length. */
  histogram: { edges: number[]; counts: number[] } | null;
  sampleRates: Counted[];
  channels: Counted[];
  formats: Counted[];
  classes: { name: string; n: number; totalS: number }[];
  /** Clips that are longer, and shorter, than an example. */
  nCut: number;
  nPadded: number;
  nSilent: number;
}

export function asAudioStatistics(value: unknown): AudioStatistics | null {
  if (!isRecord(value) || value.kind !== "audio" || !isRecord(value.duration)) return null;
  const { duration } = value;
  return {
    nClips: whole(value.n_clips),
    totalS: whole(value.total_s),
    minS: whole(duration.min_s),
    medianS: whole(duration.median_s),
    maxS: whole(duration.max_s),
    histogram: histogramOf(duration.histogram),
    sampleRates: counted(value.sample_rates),
    channels: counted(value.channels),
    formats: counted(value.formats),
    classes: records(value.classes).map(({ name, n, total_s }) => ({ name: String(name), n: whole(n), totalS: whole(total_s) })),
    nCut: whole(value.n_cut),
    nPadded: whole(value.n_padded),
    nSilent: whole(value.n_silent),
  };
}

function histogramOf(value: unknown): AudioStatistics["histogram"] {
  if (!isRecord(value) || !Array.isArray(value.edges) || !Array.isArray(value.counts)) return null;
  return { edges: value.edges.map(Number), counts: value.counts.map(Number) };
}

function counted(value: unknown): Counted[] {
  return records(value).map((each) => ({ value: typeof each.value === "number" ? each.value : String(each.value), n: whole(each.n) }));
}

function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function whole(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
