// SPDX-License-Identifier: Apache-2.0
// The shapes of marks, each another form, so that they differ without colour.
import { t } from "@lingui/core/macro";

import type { MarkKind } from "./rows";

export const MARKS: Record<MarkKind, string> = {
  preempted: t`Preempted`,
  resized: t`Resized`,
  failed: t`Failed`,
  checkpoint: t`Checkpoint`,
};

const PATHS: Record<MarkKind, string> = {
  preempted: "M2 1 L10 6 L2 11 Z", // an arrow away from the GPU
  resized: "M6 0 L12 6 L6 12 L0 6 Z",
  failed: "M2 0 L6 4 L10 0 L12 2 L8 6 L12 10 L10 12 L6 8 L2 12 L0 10 L4 6 L0 2 Z",
  checkpoint: "M4 3 H8 V9 H4 Z",
};

export function MarkShape({ kind }: { kind: MarkKind }) {
  return (
    <svg width={12} height={12} viewBox="-1 -1 14 14" aria-hidden="true" style={{ display: "block" }}>
      <path d={PATHS[kind]} fill="var(--mantine-color-text)" stroke="var(--mantine-color-body)" strokeWidth={1.5} paintOrder="stroke" />
    </svg>
  );
}
