// SPDX-License-Identifier: Apache-2.0
// Times on axes.
import { expect, it } from "vitest";

import { clockTick } from "./time";

const AT_MS = new Date(2026, 2, 2, 14, 5, 7).getTime();

it("tells ticks that are seconds apart from one another", () => {
  expect(clockTick(AT_MS, 2000)).toMatch(/05:07/);
  expect(clockTick(AT_MS + 2000, 2000)).toMatch(/05:09/);
  expect(clockTick(AT_MS, 60_000)).not.toMatch(/05:07/);
});
