// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";

import { TransferClock } from "@/lib/transfer";

it("reckons the time left from what moved since it went on, and not before it knows the speed", () => {
  const clock = new TransferClock();
  expect(clock.at(900, 2000, 0).secondsLeft).toBeUndefined();
  expect(clock.at(950, 2000, 1000).secondsLeft).toBeUndefined();
  expect(clock.at(1000, 2000, 4000).secondsLeft).toBe(40);
  clock.restart();
  expect(clock.at(1000, 2000, 600_000).secondsLeft).toBeUndefined();
  expect(clock.at(1500, 2000, 605_000).secondsLeft).toBe(5);
});
