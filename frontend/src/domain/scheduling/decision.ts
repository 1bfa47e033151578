// SPDX-License-Identifier: Apache-2.0
// What the scheduler can decide on a job: what it did, and what it would do.
import { t } from "@lingui/core/macro";

import type { DecisionKind } from "@/api/types";

interface DecisionDeclaration {
  /** Of a decision that was made. */
  done: string;
  /** Of one that would be made: "it ...". */
  hypothetical: string;
}

export const DECISIONS: Record<DecisionKind, DecisionDeclaration> = {
  launch: { done: t`Launched`, hypothetical: t`starts now` },
  resize: { done: t`Resized`, hypothetical: t`is resized` },
  preempt: { done: t`Preempted`, hypothetical: t`is preempted` },
  keep: { done: t`Kept running`, hypothetical: t`keeps running` },
  wait: { done: t`Pending`, hypothetical: t`stays pending` },
};
