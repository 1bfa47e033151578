// SPDX-License-Identifier: Apache-2.0
// What is free together: on a node, in a rack, anywhere.
import { expect, it } from "vitest";

import type { Cluster } from "@/api/types";
import { cluster } from "@/testing/schedulingFixtures";

import { freeGpus } from "./freeGangs";

type Nodes = { gpu_type?: string; free: number; is_schedulable?: boolean }[];

function racksOf(...racks: Nodes[]): Pick<Cluster, "racks"> {
  const [rack] = cluster().racks;
  const [node] = rack?.nodes ?? [];
  if (rack === undefined || node === undefined) throw new Error("the fixture has a node");
  const slots = (free: number) => Array.from({ length: 4 }, (_, index) => ({ index, job: index < free ? null : { id: null, name: null, organisation: null, slowdown: null }, colocated: [], gpu: null }));
  return {
    racks: racks.map((nodes, at) => ({
      ...rack,
      name: `rack-${at}`,
      nodes: nodes.map(({ free, ...over }, place) => ({ ...node, name: `node-${at}-${place}`, ...over, slots: slots(free) })),
    })),
  };
}

it("counts what is free anywhere, in one rack and on one node", () => {
  expect(freeGpus(racksOf([{ free: 1 }, { free: 3 }], [{ free: 1 }, { free: 1 }, { free: 1 }]))).toEqual([
    { gpuType: "H100", anywhere: 7, inOneRack: 4, onOneNode: 3, holes: [{ gpus: 3, nodes: 1 }, { gpus: 1, nodes: 4 }] },
  ]);
});

it("counts types apart, and no GPUs of nodes that take no jobs", () => {
  const [first, second] = freeGpus(racksOf([{ free: 4, is_schedulable: false }, { free: 2, gpu_type: "A100" }, { free: 2 }]));
  expect(first).toMatchObject({ gpuType: "A100", anywhere: 2, inOneRack: 2, onOneNode: 2 });
  expect(second).toMatchObject({ gpuType: "H100", anywhere: 2, inOneRack: 2, onOneNode: 2, holes: [{ gpus: 2, nodes: 1 }] });
});

it("names a type of which nothing is free", () => {
  expect(freeGpus(racksOf([{ free: 0 }]))).toEqual([{ gpuType: "H100", anywhere: 0, inOneRack: 0, onOneNode: 0, holes: [] }]);
});
