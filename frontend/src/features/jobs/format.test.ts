// SPDX-License-Identifier: Apache-2.0
// The facts of an explanation, as people read them.
import { expect, it } from "vitest";

import { factsOf } from "./format";

it("writes times with their unit, and names without it", () => {
  expect(factsOf({ wait_s: 75, max_gpus: 4, gpus: null })).toEqual([
    ["Wait", "1 min 15 s"],
    ["Max gpus", "4"],
    ["Gpus", "–"],
  ]);
});
