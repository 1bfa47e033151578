// SPDX-License-Identifier: Apache-2.0
// The lines of a burn-down, and what it says.
import { expect, it } from "vitest";

import type { BurnDown } from "@/api/types";
import { burnDownLines, burnDownText, csvOfBurnDown } from "@/features/usage/burnDown";

const HALF_USED: BurnDown = {
  ...{ gpu_hours: 100, period: "month", on_exhausted: "alert", gpu_type: "", used_gpu_hours: 50, is_exhausted: false },
  ...{ began_at: "2026-11-01T00:00:00Z", ends_at: "2026-11-11T00:00:00Z", rate_since: "2026-11-01T00:00:00Z" },
  points: [
    { at: "2026-11-01T00:00:00Z", gpu_hours: 0 },
    { at: "2026-11-06T00:00:00Z", gpu_hours: 50 },
  ],
  ...{ gpu_hours_per_day: 10, predicted_gpu_hours: 100, exhausted_at: null },
};
const ends = (points: string) => points.split(" ").map((pair) => pair.split(",").map(Number));

it("draws what was used until now, even use, and what would come at the same rate", () => {
  const lines = burnDownLines(HALF_USED);
  expect(ends(lines.used)).toEqual([[0, 100], [50, expect.closeTo(52.38, 1)]]);
  expect(ends(lines.predicted)).toEqual([[50, expect.closeTo(52.38, 1)], [100, expect.closeTo(4.76, 1)]]);
  expect(ends(lines.even ?? "")[1]).toEqual([100, expect.closeTo(lines.budgetY, 1)]);
});

it("keeps a prediction far above the budget out of the drawing, and an empty budget drawn", () => {
  const lines = burnDownLines({ ...HALF_USED, gpu_hours_per_day: 1000, predicted_gpu_hours: 5050 });
  expect(lines.budgetY).toBeCloseTo(100 - 100 / 1.575, 1);
  expect(ends(lines.predicted)[1]?.[1]).toBeLessThan(0);
  const empty = burnDownLines({ ...HALF_USED, gpu_hours: 0, points: [], gpu_hours_per_day: 0 });
  expect(`${empty.predicted} ${empty.budgetY}`).not.toMatch(/NaN|Infinity/);
});

it("draws a budget without a period until it is used up, at most twice as long as it has lasted", () => {
  const once = { ...HALF_USED, period: "once", ends_at: null, predicted_gpu_hours: null } as const;
  expect(burnDownLines({ ...once, exhausted_at: "2026-11-08T00:00:00Z" })).toMatchObject({ even: null, endsAt: "2026-11-08T00:00:00.000Z" });
  expect(burnDownLines({ ...once, exhausted_at: "2029-11-08T00:00:00Z" }).endsAt).toBe("2026-11-11T00:00:00.000Z");
});

it.each([
  [{}, /^At the rate since .*, 10 GPU-hours a day, 100 of 100 GPU-hours are used when the period ends\.$/],
  [{ exhausted_at: "2026-11-09T12:00:00Z" }, /a day, it is used up by (9 Nov|Nov 9)/],
  [{ exhausted_at: "2026-11-05T12:00:00Z" }, /^It has been used up since (5 Nov|Nov 5)/],
  [{ gpu_hours_per_day: 0 }, /^Nothing was used since/],
  [{ predicted_gpu_hours: null, ends_at: null }, /it is not used up\.$/],
])("says what comes of it: %o", (over, text) => {
  expect(burnDownText({ ...HALF_USED, ...over })).toMatch(text);
});

it("gives the curve as CSV", () => {
  expect(csvOfBurnDown(HALF_USED).split("\r\n")[2]).toBe("2026-11-06T00:00:00Z,50,100");
});
