// SPDX-License-Identifier: Apache-2.0
// The phases of a job's start.
import { expect, it } from "vitest";

import { inputsTexts, startupParts, startupText } from "./startup";

const AT = "2026-03-02T09:00:00Z";

function startup(phases: [Parameters<typeof startupParts>[0]["phases"][number]["name"], number][], is_complete = true) {
  const total_s = phases.reduce((sum, [, seconds]) => sum + seconds, 0);
  return { is_complete, total_s, phases: phases.map(([name, duration_s]) => ({ name, duration_s, started_at: AT })) };
}

it("names the whole and its longest part", () => {
  const found = startup([["request", 0.2], ["validation", 3], ["import", 6.1], ["first_batch", 3]]);
  expect(startupText(found)).toBe("Start-up: 12 s, of which importing 6.1 s");
});

it("says so while it is under way, and names no part of a single one", () => {
  expect(startupText(startup([["request", 0.2]], false))).toBe("Start-up so far: 0.2 s");
});

it("gives shares that add up, without phases that took no time", () => {
  const parts = startupParts(startup([["request", 1], ["validation", 0], ["import", 3]]));
  expect(parts.map(({ name, share }) => [name, share])).toEqual([["request", 0.25], ["import", 0.75]]);
});

it("names the nodes that took longest where there are many, and sums up the others", () => {
  const inputs = Array.from({ length: 1000 }, (_, at) => ({
    node: `n${at}`,
    inputs_bytes: 1024 ** 2,
    found_bytes: at % 2 === 0 ? 1024 ** 2 : 0,
    fetched_bytes: at % 2 === 0 ? 0 : 1024 ** 2,
    fetch_s: at % 2 === 0 ? 0 : at,
  }));
  expect(inputsTexts({ inputs })).toEqual([
    "Inputs on n999: fetched 1 MiB in 16 min 39 s",
    "Inputs on n997: fetched 1 MiB in 16 min 37 s",
    "Inputs on n995: fetched 1 MiB in 16 min 35 s",
    "Inputs on 997 other nodes, none of which took longer: 500 MiB found on the nodes, 497 MiB fetched",
  ]);
});

it("says of each node what was found there and what was fetched", () => {
  const mib = 1024 ** 2;
  const on = (node: string, found: number, fetched: number, fetch_s: number) => ({
    node,
    inputs_bytes: (found + fetched) * mib,
    found_bytes: found * mib,
    fetched_bytes: fetched * mib,
    fetch_s,
  });
  expect(inputsTexts({ inputs: [on("a", 200, 0, 0), on("b", 0, 200, 4), on("c", 50, 150, 3)] })).toEqual([
    "Inputs on a: found on the node (200 MiB)",
    "Inputs on b: fetched 200 MiB in 4 s",
    "Inputs on c: 50 MiB found on the node, 150 MiB fetched in 3 s",
  ]);
});
