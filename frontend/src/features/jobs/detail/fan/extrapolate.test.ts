// SPDX-License-Identifier: Apache-2.0
// The extrapolation of a loss curve: it recovers a power law, says how much the points scatter, and needs some points.
import { expect, it } from "vitest";

import { fitCurve } from "./extrapolate";

const curve = (n: number, value: (step: number) => number | null) => Array.from({ length: n }, (_, i) => ({ step: 10 * (i + 1), value: value(10 * (i + 1)) }));

it("goes on along the power law that the points follow", () => {
  const fit = fitCurve(curve(60, (step) => 0.3 + 4 / Math.sqrt(step)));
  expect(fit?.at(5000)).toBeCloseTo(0.3 + 4 / Math.sqrt(5000), 3);
  expect(fit?.spread).toBeLessThan(1e-6);
});

it("is as wide as the points scatter", () => {
  const fit = fitCurve(curve(200, (step) => 1 + (step % 20 === 0 ? 0.1 : -0.1)));
  expect(fit?.spread).toBeCloseTo(0.1, 2);
});

it("leaves out what is not a number, and says nothing of a few points", () => {
  expect(fitCurve(curve(5, () => 1))).toBeNull();
  expect(fitCurve(curve(30, (step) => (step < 200 ? null : step === 250 ? NaN : 2)))?.at(1000)).toBeCloseTo(2);
});
