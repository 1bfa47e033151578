// SPDX-License-Identifier: Apache-2.0
// What jobs waited: which bar says it, where its line lies, and what a spreadsheet gets.
import { describe, expect, it } from "vitest";

import type { Timeline } from "@/api/types";

import { csvOfTimeline, nodeRows, waitsOf } from "./rows";

const SINCE = "2026-03-02T08:00:00.000Z";
const at = (second: number) => new Date(Date.parse(SINCE) + 1000 * second).toISOString();
const job = (name: string, submittedS: number, allocatedS: number | null) => ({
  id: name,
  name,
  organisation: "Vision",
  submitted_at: at(submittedS),
  allocated_at: allocatedS === null ? null : at(allocatedS),
});
const bar = (place: number, firstGpu: number, sinceS: number, untilS: number) => ({
  first_gpu: firstGpu,
  n_gpus: 1,
  since_s: sinceS,
  until_s: untilS,
  job: place,
  p50_s: null,
  p90_s: null,
  n: 1,
});

function page(jobs: Timeline["jobs"], bars: Timeline["nodes"][number]["bars"][], waiting: Timeline["waiting"] = []): Timeline {
  const nodes = bars.map((found, index) => ({ name: `n${index}`, gpu_type: "a100", n_gpus: 2, bars: found, marks: [] }));
  return { since: SINCE, until: at(3600), now: at(3000), next_after: null, nodes, waiting, n_waiting: waiting.length, jobs };
}

describe("The waits of the timeline", () => {
  it("are of first attempts only, once a job, whatever the nodes", () => {
    const pages = [page([job("wide", 0, 600), job("earlier", -900, -600)], [[bar(0, 0, 600.3, 900), bar(1, 1, 0, 100)], [bar(0, 0, 600.3, 900), bar(0, 0, 1200, 1500)]])];
    expect(nodeRows(pages).map(({ bars }) => bars.map(({ waitedS }) => waitedS))).toEqual([
      [600, null],
      [null, null],
    ]);
  });

  it("are rows of their own where they would cover each other, and left out where they are too short to be seen", () => {
    const jobs = [job("a", 0, 600), job("b", 100, 900), job("c", 950, 1500), job("d", 1800, 1805)];
    const [node] = nodeRows([page(jobs, [[bar(0, 0, 600, 900), bar(1, 0, 900, 1000), bar(2, 0, 1500, 1700), bar(3, 0, 1805, 1900)]])]);
    const waits = waitsOf(node?.bars ?? [], 3600, () => 2);
    expect(waits.map(({ bar: { job: of }, row }) => [of?.name, row])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 0],
    ]);
  });

  it("are in the CSV, those of pending jobs until now", () => {
    const waiting = [{ job: 1, start_p50_s: 3300, start_p90_s: null, finish_p50_s: null, finish_p90_s: null }];
    const lines = csvOfTimeline([page([job("ran", -60, 600), job("pends", 1200, null)], [[bar(0, 0, 600, 900)]], waiting)]).trim().split("\r\n");
    expect(lines[0]).toMatch(/,submitted,pending_s$/);
    expect(lines[1]).toBe(`attempt,n0,0,1,ran,Vision,${at(600)},${at(900)},,,${at(-60)},660`);
    expect(lines[2]).toBe(`pending,,,,pends,Vision,${at(3300)},,,,${at(1200)},1800`);
  });
});
