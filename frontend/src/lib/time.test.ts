// SPDX-License-Identifier: Apache-2.0
// Times on axes, and predicted ones.
import { expect, it } from "vitest";

import { clockRange, clockTick, laterClock } from "./time";

const AT_MS = new Date(2026, 2, 2, 14, 5, 7).getTime();

it("tells ticks that are seconds apart from one another", () => {
  expect(clockTick(AT_MS, 2000)).toMatch(/05:07/);
  expect(clockTick(AT_MS + 2000, 2000)).toMatch(/05:09/);
  expect(clockTick(AT_MS, 60_000)).not.toMatch(/05:07/);
});

it("says a time once where the median and the ninth decile read the same", () => {
  const at = (ms: number) => new Date(AT_MS + ms).toISOString();
  const [median, sameMinute, later] = [at(0), at(20_000), at(240_000)];
  expect(clockRange(median, sameMinute)).not.toContain("–");
  expect(clockRange(median, null)).toBe(clockRange(median, sameMinute));
  expect(clockRange(median, later)).toMatch(/05.*–.*09/);
  expect(laterClock(sameMinute, median)).toBeNull();
  expect(laterClock(null, median)).toBeNull();
  expect(laterClock(later, median)).toMatch(/09/);
});
