// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";

import { costText } from "@/domain/scheduling/cost";

const cost = { seconds: 31.4, error_s: 4.2, n: 7, basis: "family", sentence: "" } as const;

test("a cost says how sure it is and what it rests on", () => {
  expect(costText(cost)).toBe("31 s ± 4 s (7 observations)");
  expect(costText({ ...cost, seconds: 1.45, n: 1, basis: "few" })).toBe("1.4 s ± 4.2 s (1 observation and those of others)");
  expect(costText({ ...cost, basis: "prior" })).toBe("31 s ± 4 s (a guess)");
});

test("what is known has no spread", () => {
  expect(costText({ ...cost, error_s: 0, n: 0, basis: "unsaved" })).toBe("31 s (in no checkpoint yet)");
});
