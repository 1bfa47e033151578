// SPDX-License-Identifier: Apache-2.0
// What is said of pending jobs stays true, however long they wait.
import { describe, expect, it } from "vitest";

import { attempt, job } from "@/testing/fixtures";

import { meaningfulStart, pendingText } from "./pendingJob";

const SUBMITTED = Date.parse("2026-03-02T09:00:00Z");
const after = (seconds: number) => SUBMITTED + seconds * 1000;
const pending = (over = {}) =>
  job({ state: "queued", submitted_at: "2026-03-02T09:00:00Z", current_attempt: null, explanations: [], ...over });

describe("A pending job without a reason", () => {
  it("is about to be considered at first, and is said to be overlooked after minutes", () => {
    expect(pendingText(pending(), after(5))).toBe("The scheduler considers it in its next round.");
    expect(pendingText(pending(), after(300))).toContain("No scheduling round has considered it for 5 min 00 s.");
  });

  it("is being validated at first, and is said to hang after minutes", () => {
    expect(pendingText(pending({ preflight: "pending" }), after(5))).toBe("The model and data are being validated.");
    expect(pendingText(pending({ preflight: "pending" }), after(300))).toContain("have not been validated for 5 min 00 s.");
  });

  it("says why the platform could not validate it", () => {
    const refused = pending({ preflight: "pending", validation_problem: "quota: exceeded quota" });
    expect(pendingText(refused, after(300))).toContain("tries again: quota: exceeded quota");
  });

  it("counts from the end of its last attempt", () => {
    const preempted = pending({ current_attempt: attempt({ ended_at: "2026-03-02T10:00:00Z" }) });
    expect(pendingText(preempted, after(3600 + 5))).toBe("The scheduler considers it in its next round.");
  });
});

describe("The predicted start of a pending job", () => {
  it("means nothing once its time has come and the job is still pending", () => {
    expect(meaningfulStart("2026-03-02T09:05:00Z", after(0))).toBe("2026-03-02T09:05:00Z");
    expect(meaningfulStart("2026-03-02T09:00:00Z", after(0))).toBeNull();
    expect(meaningfulStart("2026-03-02T08:55:00Z", after(0))).toBeNull();
    expect(meaningfulStart(null, after(0))).toBeNull();
  });
});
