// SPDX-License-Identifier: Apache-2.0
// What is used of a budget, in words.
import { expect, it } from "vitest";

import type { BudgetUse } from "@/api/types";
import { usedText } from "@/domain/scheduling/quota/budget";

it.each([
  [0.0166, 0.05, "0.017 of 0.05"],
  [12.44, 100, "12.4 of 100"],
  [1234.56, 5000, "1,235 of 5,000"],
  [0, 5, "0 of 5"],
])("says %d of %d", (used_gpu_hours, gpu_hours, text) => {
  expect(usedText({ used_gpu_hours, gpu_hours } as BudgetUse)).toBe(text);
});
