// What an attempt measured, made ready to draw.
import { expect, it } from "vitest";

import type { Speed } from "@/api/types";

import { barsOf, explanationsOf, meanStaleness, partsOf } from "./profile";

it("splits a step into its parts and leaves out what takes no time", () => {
  const parts = partsOf({ step_s: 0.1, compute_s: 0.06, sync_s: 0.04, wait_s: 0.01, input_s: 0 });
  expect(parts.map(({ name, share }) => [name, Math.round(share * 100)])).toEqual([
    ["compute", 60],
    ["sync", 30],
    ["wait", 10],
  ]);
});

it("gives every staleness its bar, and one to all that are very stale", () => {
  expect(barsOf([])).toEqual([]);
  expect(barsOf([0, 0])).toEqual([]);
  expect(barsOf([3, 1])).toEqual([{ label: "0", share: 0.75 }, { label: "1", share: 0.25 }]);
  const many = barsOf(Array.from({ length: 65 }, () => 1));
  expect(many).toHaveLength(12);
  expect(many.at(-1)).toEqual({ label: "11+", share: 54 / 65 });
});

it("knows the mean staleness", () => {
  expect(meanStaleness([2, 0, 2])).toBe(1);
  expect(meanStaleness([])).toBe(0);
});

it("explains the words that are shown, and no others", () => {
  const speed = { input_s: 0.1, sync_s: 0, wait_s: 0, noise_scale: 12, peak_memory_bytes: 0, bytes_sent: 0 };
  const shown = explanationsOf({ ...speed, gpu_utilisation: null, staleness: [] } as unknown as Speed);
  expect(shown.map(([word]) => word)).toEqual(["Step", "Reading", "Gradient noise scale"]);
});
