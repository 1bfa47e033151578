// SPDX-License-Identifier: Apache-2.0
// How large a gang may be that starts now: what is free of each GPU type, and how much of it is together.
import type { Cluster } from "@/api/types";

import { freeOn } from "./capacity";

export interface FreeGpus {
  gpuType: string;
  /** Free in the whole cluster, in the rack that has the most, and on the node that has the most. */
  anywhere: number;
  inOneRack: number;
  onOneNode: number;
  /** Nodes by the number of their free GPUs, the greatest first. */
  holes: { gpus: number; nodes: number }[];
}

/** One entry a GPU type of the cluster, also of one of which nothing is free, by name. */
export function freeGpus({ racks }: Pick<Cluster, "racks">): FreeGpus[] {
  const found = new Map<string, FreeGpus & { sizes: Map<number, number> }>();
  for (const rack of racks) {
    const ofRack = new Map<string, number>();
    for (const node of rack.nodes) {
      const free = freeOn(node);
      const type = found.get(node.gpu_type) ?? { gpuType: node.gpu_type, anywhere: 0, inOneRack: 0, onOneNode: 0, holes: [], sizes: new Map<number, number>() };
      found.set(node.gpu_type, type);
      type.anywhere += free;
      type.onOneNode = Math.max(type.onOneNode, free);
      if (free > 0) type.sizes.set(free, (type.sizes.get(free) ?? 0) + 1);
      ofRack.set(node.gpu_type, (ofRack.get(node.gpu_type) ?? 0) + free);
      type.inOneRack = Math.max(type.inOneRack, ofRack.get(node.gpu_type) ?? 0);
    }
  }
  return [...found.values()]
    .map(({ sizes, ...rest }) => ({ ...rest, holes: [...sizes].map(([gpus, nodes]) => ({ gpus, nodes })).sort((a, b) => b.gpus - a.gpus) }))
    .sort((a, b) => a.gpuType.localeCompare(b.gpuType));
}
