// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";

import type { UsageOverTime } from "@/api/types";

import { linesOf, usageCsv } from "./usageLines";

const USAGE: UsageOverTime = {
  attempt_number: 2,
  resources: [],
  pods: [
    {
      role: "worker",
      index: 0,
      points: [
        { at: "2026-11-23T10:00:02Z", values: { cpus: 0.5, memory_bytes: 100 } },
        { at: "2026-11-23T10:00:04Z", values: { cpus: 1 } },
      ],
    },
    { role: "server", index: 0, points: [{ at: "2026-11-23T10:00:01Z", values: { cpus: 0.25 } }] },
  ],
  next_pod: null,
};

test("a resource is a line a pod, by seconds since the first sample of any", () => {
  expect(linesOf(USAGE, "cpus")).toEqual([
    { id: "worker 0", label: "Worker 0", x: [1, 3], y: [0.5, 1] },
    { id: "server 0", label: "Server 0", x: [0], y: [0.25] },
  ]);
  expect(linesOf(USAGE, "memory_bytes").map(({ label, x }) => [label, x])).toEqual([["Worker 0", [1]]]);
  expect(linesOf({ ...USAGE, pods: [] }, "cpus")).toEqual([]);
});

test("the file has a row for each pod, time and resource", () => {
  expect(usageCsv(USAGE).trim().split(/\r?\n/)).toEqual([
    "attempt,role,index,at,resource,value",
    "2,worker,0,2026-11-23T10:00:02Z,cpus,0.5",
    "2,worker,0,2026-11-23T10:00:02Z,memory_bytes,100",
    "2,worker,0,2026-11-23T10:00:04Z,cpus,1",
    "2,server,0,2026-11-23T10:00:01Z,cpus,0.25",
  ]);
});
