// SPDX-License-Identifier: Apache-2.0
// Which of the cluster's GPUs can be had: a free one counts only where the scheduler may start something.
import { t } from "@lingui/core/macro";

import type { Cluster, Node, SlotJob } from "@/api/types";

export interface Capacity {
  gpus: number;
  free: number;
  inUse: number;
  /** Idle, but with a problem, or on a node that is cordoned, drained, excluded or not ready. */
  unavailable: number;
}

/** Why nothing new starts on the node; undefined when it may. */
export function closedReason(node: Node): string | undefined {
  if (!node.is_ready) return t`Not ready`;
  if (node.maintenance !== null) return node.maintenance.drain_by === null ? t`Cordoned` : t`Draining`;
  if (node.exclusion?.gpus.length === 0) return t`Excluded`;
  if (!node.is_schedulable) return t`Takes no new jobs`;
  return undefined;
}

/** How many GPUs of the node the scheduler may give to a job now. */
export function freeOn(node: Node): number {
  return closedReason(node) === undefined ? node.slots.filter(({ job, gpu }) => job === null && !gpu?.problem).length : 0;
}

export function capacityOf({ racks }: Pick<Cluster, "racks">): Capacity {
  const total: Capacity = { gpus: 0, free: 0, inUse: 0, unavailable: 0 };
  for (const node of racks.flatMap(({ nodes }) => nodes)) {
    const idle = node.slots.filter(({ job }) => job === null).length;
    const usable = freeOn(node);
    total.gpus += node.slots.length;
    total.inUse += node.slots.length - idle;
    total.free += usable;
    total.unavailable += idle - usable;
  }
  return total;
}

export interface NodeJobs {
  /** Those that the reader may see, each once. */
  named: { id: string; name: string }[];
  /** How many GPUs or servers jobs of other organisations hold: those jobs cannot be distinguished. */
  nOthers: number;
}

/** The jobs that hold GPUs of the node or have parameter servers on it. */
export function jobsOn(node: Node): NodeJobs {
  const named = new Map<string, string>();
  let nOthers = 0;
  const holders: (SlotJob | null)[] = [
    ...node.slots.flatMap(({ job, colocated }) => [job, ...colocated]),
    ...node.servers.map(({ job }) => job),
  ];
  for (const job of holders) {
    if (job === null) continue;
    if (job.id === null) nOthers += 1;
    else named.set(job.id, job.name ?? job.id);
  }
  return { named: [...named].map(([id, name]) => ({ id, name })), nOthers };
}
