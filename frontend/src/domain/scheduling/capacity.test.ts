// SPDX-License-Identifier: Apache-2.0
// Free GPUs are those that a job can get, and a node's jobs are all that a drain moves.
import { expect, it } from "vitest";

import type { Cluster, Node } from "@/api/types";
import { cluster } from "@/testing/schedulingFixtures";

import { capacityOf, jobsOn } from "./capacity";

const ACME = { id: "a1", name: "Acme" };
const FREE = { job: null, colocated: [], gpu: null };

function node(over: Partial<Node>): Node {
  const [rack] = cluster().racks;
  return { ...(rack?.nodes[0] as Node), ...over };
}

function racksOf(...nodes: Node[]): Pick<Cluster, "racks"> {
  return { racks: [{ name: "rack-1", uplink_bps: 1e9, nodes }] };
}

it("counts idle GPUs of closed nodes as unavailable, not as free", () => {
  const slots = [{ index: 0, job: { id: "j", name: "digits", organisation: ACME, slowdown: null }, colocated: [], gpu: null }, { index: 1, ...FREE }];
  const drained = { drain_by: "2026-03-02T11:00:00Z", reason: "", asked_by: "root", asked_at: "2026-03-02T09:00:00Z" };
  const racks = racksOf(
    node({ name: "open", slots }),
    node({ name: "drained", slots, maintenance: drained, is_schedulable: false }),
    node({ name: "lost", slots: [{ index: 0, ...FREE }], is_ready: false }),
  );
  expect(capacityOf(racks)).toEqual({ gpus: 5, free: 1, inUse: 2, unavailable: 2 });
});

it("counts a GPU with a problem as unavailable", () => {
  const gpu = {
    name: "H200", memory_bytes: 8, used_bytes: 4, utilisation: 0, temperature_c: null, problem: "Processes are left on it.",
  };
  const racks = racksOf(node({ slots: [{ index: 0, job: null, colocated: [], gpu }, { index: 1, ...FREE }] }));
  expect(capacityOf(racks)).toEqual({ gpus: 2, free: 1, inUse: 0, unavailable: 1 });
});

it("names each job of a node once, with those that share a GPU and those that only have servers there", () => {
  const digits = { id: "j1", name: "digits", organisation: ACME, slowdown: null };
  const letters = { id: "j2", name: "letters", organisation: ACME, slowdown: null };
  const others = { id: null, name: null, organisation: null, slowdown: null };
  const jobs = jobsOn(
    node({
      slots: [{ index: 0, job: digits, colocated: [others], gpu: null }, { index: 1, job: digits, colocated: [], gpu: null }, { index: 2, ...FREE }],
      servers: [{ job: letters, n: 2 }],
    }),
  );
  expect(jobs.named.map(({ name }) => name)).toEqual(["digits", "letters"]);
  expect(jobs.nOthers).toBe(1);
});
