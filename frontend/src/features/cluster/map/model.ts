// SPDX-License-Identifier: Apache-2.0
// The map of the cluster as data: racks, nodes and GPUs, now as they were observed, at another time as the timeline has it.
import { t } from "@lingui/core/macro";

import type { Cluster, SlotJob } from "@/api/types";
import { closedReason } from "@/domain/scheduling/capacity";
import { type Bar, type NodeRow, barName } from "@/features/cluster/timeline/rows";
import { csvOf } from "@/lib/download";

/** What gangs send over a link now; bps null: none of those that cross it is measured. */
export type LinkLoad = Cluster["link_loads"][number];

export interface Holder {
  /** null: of an organisation that the reader does not belong to, or several short attempts. */
  job: string | null;
  name: string;
  organisation: string | null;
  /** What others on its hardware cost it; null: not measured, or of another time than now. */
  slowdown: SlotJob["slowdown"];
}

export interface MapGpu {
  index: number;
  holders: Holder[];
  isUsable: boolean;
  /** 0 to 1; null where it is not known. */
  use: number | null;
  memory: number | null;
  /** Degrees Celsius; null where it is not known. */
  temperature_c: number | null;
  /** The holder is predicted to be there still, by the median or only by the 90th percentile. */
  predicted: "" | "p50" | "p90";
}

export interface MapNode {
  name: string;
  gpuType: string;
  gpus: MapGpu[];
  /** What its NIC was measured to give, as a share of what was declared; null: not measured. */
  network: number | null;
  /** What gangs send over its NIC now; null: nothing there is measured. */
  load: LinkLoad | null;
}

export interface MapRack {
  name: string;
  /** The same of its uplink. */
  load: LinkLoad | null;
  nodes: MapNode[];
}

const GONE = t`No longer in the cluster`;

export function mapNow(cluster: Cluster): MapRack[] {
  return cluster.racks.map(({ name, nodes }) => ({
    name,
    load: loadOf(cluster, "uplink", name),
    nodes: nodes.map((node) => ({
      name: node.name,
      gpuType: node.gpu_type,
      network: nicShare(cluster, node.name),
      load: loadOf(cluster, "nic", node.name),
      gpus: node.slots.map(({ index, job, colocated, gpu }) => ({
        index,
        holders: [...(job === null ? [] : [job]), ...colocated].map(holderOf),
        isUsable: closedReason(node) === undefined && !gpu?.problem,
        use: gpu?.utilisation ?? null,
        memory: gpu?.memory_bytes ? gpu.used_bytes / gpu.memory_bytes : null,
        temperature_c: gpu?.temperature_c ?? null,
        predicted: "" as const,
      })),
    })),
  }));
}

/** atS and nowS: seconds since the beginning of the timeline. What waits has no GPU yet, and is not on the map. */
export function mapAt(cluster: Cluster, rows: readonly NodeRow[], atS: number, nowS: number): MapRack[] {
  const rackOf = new Map(cluster.racks.flatMap(({ name, nodes }) => nodes.map((node) => [node.name, name] as const)));
  const racks = new Map<string, MapRack>(cluster.racks.map(({ name }) => [name, { name, load: null, nodes: [] }]));
  for (const row of rows) {
    const name = rackOf.get(row.name) ?? GONE;
    const rack = racks.get(name) ?? { name, load: null, nodes: [] };
    racks.set(name, rack);
    rack.nodes.push(nodeAt(row, atS, nowS));
  }
  return [...racks.values()].filter(({ nodes }) => nodes.length > 0);
}

function nodeAt(row: NodeRow, atS: number, nowS: number): MapNode {
  const gpus = Array.from({ length: row.nGpus }, (_, index): MapGpu => {
    const on = row.bars.filter(({ firstGpu, nGpus }) => firstGpu <= index && index < firstGpu + nGpus);
    const held = on.filter((bar) => bar.sinceS <= atS && atS < bar.untilS);
    const foreseen = atS > nowS ? on.filter((bar) => bar.p50S !== null && atS < (bar.p90S ?? bar.p50S)) : [];
    const isSure = foreseen.some(({ p50S }) => p50S !== null && atS < p50S);
    const predicted = foreseen.length === 0 ? "" : isSure ? "p50" : "p90";
    return { index, holders: [...held, ...foreseen].map(holderOfBar), isUsable: true, use: null, memory: null, temperature_c: null, predicted };
  });
  return { name: row.name, gpuType: row.gpuType, gpus, network: null, load: null };
}

/** Organisations by name: the place is the colour. */
export function organisationsOn(racks: readonly MapRack[]): string[] {
  const names = holdersOn(racks).flatMap(({ organisation }) => organisation ?? []);
  return [...new Set(names)].sort((one, other) => one.localeCompare(other));
}

/** The jobs that the reader may see, each once, by name. */
export function jobsOn(racks: readonly MapRack[]): { id: string; name: string }[] {
  const found = new Map(holdersOn(racks).flatMap(({ job, name }) => (job === null ? [] : [[job, name] as const])));
  return [...found].map(([id, name]) => ({ id, name })).sort((one, other) => one.name.localeCompare(other.name));
}

export interface Place {
  nGpus: number;
  nodes: string[];
  racks: string[];
}

/** Where a job is. Its traffic crosses NICs where it is on several nodes, and uplinks where it is in several racks. */
export function placeOf(racks: readonly MapRack[], job: string): Place {
  const place: Place = { nGpus: 0, nodes: [], racks: [] };
  for (const rack of racks) {
    for (const node of rack.nodes) {
      const n = node.gpus.filter(({ holders }) => holders.some((one) => one.job === job)).length;
      if (n === 0) continue;
      place.nGpus += n;
      place.nodes.push(node.name);
      if (!place.racks.includes(rack.name)) place.racks.push(rack.name);
    }
  }
  return place;
}

export function countOf(racks: readonly MapRack[]): { nGpus: number; nHeld: number } {
  const gpus = racks.flatMap(({ nodes }) => nodes.flatMap((node) => node.gpus));
  return { nGpus: gpus.length, nHeld: gpus.filter(({ holders }) => holders.length > 0).length };
}

function holdersOn(racks: readonly MapRack[]): Holder[] {
  return racks.flatMap(({ nodes }) => nodes.flatMap(({ gpus }) => gpus.flatMap(({ holders }) => holders)));
}

function holderOf({ id, name, organisation, slowdown }: SlotJob): Holder {
  if (id === null) return { job: null, name: t`another organisation`, organisation: null, slowdown: null };
  return { job: id, name: name ?? t`a job`, organisation: organisation?.name ?? null, slowdown };
}

function holderOfBar(bar: Bar): Holder {
  return { job: bar.job?.id ?? null, name: barName(bar), organisation: bar.job?.organisation ?? null, slowdown: null };
}

function loadOf({ link_loads }: Cluster, kind: LinkLoad["kind"], name: string): LinkLoad | null {
  return link_loads.find((link) => link.kind === kind && link.name === name) ?? null;
}

/** 0 to 1; null: not measured. */
export function loadShare(load: LinkLoad | null): number | null {
  return load === null || load.bps === null || load.capacity_bps <= 0 ? null : Math.min(1, load.bps / load.capacity_bps);
}

function nicShare({ links }: Cluster, node: string): number | null {
  const link = links.find(({ kind, name }) => kind === "nic" && name === node);
  return link === undefined || link.declared_bps === 0 ? null : Math.min(1, link.measured_bps / link.declared_bps);
}

/** A row a GPU: who holds it, and what is measured of it, shares from 0 to 1. */
export function csvOfMap(racks: readonly MapRack[]): string {
  const rows = racks.flatMap((rack) =>
    rack.nodes.flatMap((node) =>
      node.gpus.map(({ index, holders, isUsable, use, memory, temperature_c, predicted }) => {
        const jobs = holders.map(({ name }) => name).join("; ");
        const organisations = holders.map(({ organisation }) => organisation ?? "").join("; ");
        const slowdowns = holders.flatMap(({ slowdown }) => slowdown?.ratio ?? []);
        const slowest = slowdowns.length === 0 ? null : Math.max(...slowdowns);
        const state = holders.length > 0 ? predicted || "held" : isUsable ? "free" : "unavailable";
        return [rack.name, node.name, node.gpuType, index, state, jobs, organisations, use, memory, temperature_c, node.load?.bps, node.load?.capacity_bps, slowest];
      }),
    ),
  );
  return csvOf([["rack", "node", "gpu_type", "gpu", "state", "jobs", "organisations", "use", "memory", "temperature_c", "nic_bps", "nic_capacity_bps", "slowdown"], ...rows]);
}
