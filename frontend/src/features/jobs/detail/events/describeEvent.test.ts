// SPDX-License-Identifier: Apache-2.0
// Events as text.
import { expect, it } from "vitest";

import { describeEvent } from "./describeEvent";

function event(kind: string, facts: Record<string, unknown>) {
  return {
    id: 1, kind, organisation: null, subject_kind: "job", subject_id: null, actor: null, at: "2026-03-02T09:00:00Z", facts,
  };
}

it("says what a launch gave", () => {
  const facts = { before: "queued", after: "starting", mode: "parameter_server", n_workers: 2, n_servers: 1 };
  const text = describeEvent(event("job.state", { ...facts, nodes: ["node-1"], reason: "fits" }));
  expect(text.what).toBe("Pending → Starting");
  expect(text.details).toBe("Parameter server · 2 workers + 1 server on node-1 · fits");
});

it("prefers a failure's message to its code", () => {
  const facts = { before: "running", after: "queued", reason: "node_lost", message: "Node n1 went down." };
  expect(describeEvent(event("job.state", facts)).details).toBe("Node n1 went down.");
});

it("names the phases of an attempt, and shows what it does not know as it is", () => {
  const phase = describeEvent(event("attempt.phase", { phase: "resumed", number: 2, step: 40, since_start_s: 3 }));
  expect(phase).toEqual({ what: "Resumed from its checkpoint", details: "attempt 2 · step 40 · 3 s after its start" });
  expect(describeEvent(event("job.moved", { node: "n1" }))).toEqual({ what: "job.moved", details: "Node: n1" });
});

it("says why the batch has grown", () => {
  const facts = { number: 1, step: 240, was: 32, batch_size: 64, learning_rate_factor: 1.414, reason: "The noise is high." };
  expect(describeEvent(event("attempt.batch_changed", facts))).toEqual({
    what: "Batch size 32 → 64",
    details: "step 240 · learning rate × 1.41 · The noise is high.",
  });
});

it("says which server restarted, and what was lost", () => {
  const facts = { number: 1, server: 1, signal: "SIGKILL", away_s: 0.93, lost_s: 12.34, updates_lost: 57 };
  expect(describeEvent(event("attempt.server_returned", facts))).toEqual({
    what: "Server 1 failed and restarted",
    details: "SIGKILL · away for 0.9 s · 57 updates of its shard lost · of 12.3 s",
  });
});

it("names the pod that a gang without progress waits for", () => {
  const facts = { number: 1, step: 12, still_s: 61, limit_s: 600, waited_for: "worker 1 in its own code", busy: [1] };
  expect(describeEvent(event("attempt.stalled", facts))).toEqual({
    what: "No progress",
    details: "step 12 · for 1 min 01 s · waiting for worker 1 in its own code · ended after 10 min 00 s",
  });
});

it("names the job whose validation counts", () => {
  expect(describeEvent(event("job.preflight_passed", { validated_by: "j1" })).details).toBe("by job j1");
  expect(describeEvent(event("job.preflight_passed", {})).what).toBe("Validated: model and data fit");
});
