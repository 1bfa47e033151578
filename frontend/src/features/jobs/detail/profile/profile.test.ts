// SPDX-License-Identifier: Apache-2.0
// What an attempt measured, made ready to draw.
import { expect, it } from "vitest";

import { meanStaleness, metricFacts, metricMeanings } from "@/domain/pods/podMetric";
import { measured, speed } from "@/testing/fixtures";

import { stalenessBars, stepParts } from "./profile";

it("splits a step into its parts and leaves out what takes no time", () => {
  const parts = stepParts({ step_s: 0.1, compute_s: 0.06, sync_s: 0.04, wait_s: 0.01, input_s: 0 });
  expect(parts.map(({ name, share }) => [name, Math.round(share * 100)])).toEqual([
    ["compute", 60],
    ["sync", 30],
    ["wait", 10],
  ]);
});

it("gives every staleness its bar, and one to all that are very stale", () => {
  expect(stalenessBars([])).toEqual([]);
  expect(stalenessBars([0, 0])).toEqual([]);
  expect(stalenessBars([3, 1])).toEqual([{ label: "0", share: 0.75 }, { label: "1", share: 0.25 }]);
  const many = stalenessBars(Array.from({ length: 65 }, () => 1));
  expect(many).toHaveLength(12);
  expect(many.at(-1)).toEqual({ label: "11+", share: 54 / 65 });
});

it("knows the mean staleness", () => {
  expect(meanStaleness([2, 0, 2])).toBe(1);
  expect(meanStaleness([])).toBe(0);
});

it("explains the metrics that are shown, and no others", () => {
  const values = [measured("noise_scale", "Gradient noise scale", "examples", 12.34), measured("gpu", "GPU", "share", 0.5)];
  const shown = speed({ input_s: 0.1, sync_s: 0, wait_s: 0, measured: values });
  expect(metricMeanings(shown).map(([name]) => name)).toEqual(["Step", "Reading", "Computing", "Gradient noise scale", "GPU"]);
  expect(metricFacts(shown)).toEqual([["Gradient noise scale", "12 examples"], ["GPU", "50 %"]]);
});
