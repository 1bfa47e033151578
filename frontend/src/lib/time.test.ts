// SPDX-License-Identifier: Apache-2.0
// Times on axes, and predicted ones.
import { expect, it } from "vitest";

import { clock, clockRange, clockTick, durationTick, laterClock, weekdayClock } from "./time";

const AT_MS = new Date(2026, 2, 2, 14, 5, 7).getTime();

it("tells ticks that are seconds apart from one another", () => {
  expect(clockTick(AT_MS, 2000)).toMatch(/05:07/);
  expect(clockTick(AT_MS + 2000, 2000)).toMatch(/05:09/);
  expect(clockTick(AT_MS, 60_000)).not.toMatch(/05:07/);
});

it("writes durations on an axis without what is smaller than the distance of its ticks", () => {
  expect([0, 900, 4500].map((at) => durationTick(at, 900))).toEqual(["0", "15 min", "1 h 15 min"]);
  expect([0.5, 30, 90].map((at) => durationTick(at, 30))).toEqual(["500 ms", "30 s", "1 min 30 s"]);
  expect([3600, 90_000].map((at) => durationTick(at, 3600))).toEqual(["1 h", "1 d 01 h"]);
  expect([86_400, 864_000].map((at) => durationTick(at, 86_400))).toEqual(["1 d", "10 d"]);
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

it("names the day of the week of what is near, and the date of what is not", () => {
  const now = new Date(AT_MS); // a Monday
  const inDays = (days: number) => new Date(2026, 2, 2 + days, 18, 30).toISOString();
  expect(weekdayClock(inDays(0), now)).toBe(clock(inDays(0), now));
  expect(weekdayClock(inDays(4), now)).toMatch(/^Fri .*30/);
  expect(weekdayClock(inDays(-2), now)).toMatch(/^Sat .*30/);
  expect(weekdayClock(inDays(7), now)).toBe(clock(inDays(7), now));
});
