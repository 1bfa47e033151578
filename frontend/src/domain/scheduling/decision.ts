// SPDX-License-Identifier: Apache-2.0
// What the scheduler can decide on a job: what it did, and what it would do.
import type { DecisionKind } from "@/api/types";

interface DecisionDeclaration {
  /** Of a decision that was made. */
  done: string;
  /** Of one that would be made: "it ...". */
  hypothetical: string;
}

export const DECISIONS: Record<DecisionKind, DecisionDeclaration> = {
  launch: { done: "Launched", hypothetical: "starts now" },
  resize: { done: "Resized", hypothetical: "is resized" },
  preempt: { done: "Preempted", hypothetical: "is preempted" },
  keep: { done: "Kept running", hypothetical: "keeps running" },
  wait: { done: "Pending", hypothetical: "stays pending" },
};
