// SPDX-License-Identifier: Apache-2.0
// From the GPU-hours that were held to those that were of use: what goes away at each step.
import { t } from "@lingui/core/macro";

import type { UsageRow } from "@/api/types";

export interface Step {
  kind: "held" | "startup" | "lost" | "useful" | "unmeasured" | "idle" | "busy";
  label: string;
  hours: number;
  /** Where its bar begins, in GPU-hours: what goes away hangs at the end of what was left before it. */
  from: number;
  /** Of a part that goes away. */
  isLoss: boolean;
}

/** What became of the work: all that was held is useful, start-up or lost. */
export function outcomeSteps(total: UsageRow): Step[] {
  const { gpu_hours: held, startup_gpu_hours: startup, lost_gpu_hours: lost, useful_gpu_hours: useful } = total;
  return [
    { kind: "held", label: t`Held`, hours: held, from: 0, isLoss: false },
    { kind: "startup", label: t`Start-up`, hours: startup, from: Math.max(0, held - startup), isLoss: true },
    { kind: "lost", label: t`Lost after the last checkpoint`, hours: lost, from: Math.max(0, held - startup - lost), isLoss: true },
    { kind: "useful", label: t`Useful`, hours: useful, from: 0, isLoss: false },
  ];
}

/** How busy the GPUs were; [] where no driver was asked. */
export function busySteps(total: UsageRow): Step[] {
  const { gpu_hours: held, measured_gpu_hours: measured, idle_gpu_hours: idle, busy_gpu_hours: busy } = total;
  if (idle === null || busy === null) return [];
  const unmeasured = Math.max(0, held - measured);
  const first: Step[] = [{ kind: "held", label: t`Held`, hours: held, from: 0, isLoss: false }];
  if (unmeasured > 0) first.push({ kind: "unmeasured", label: t`Not measured`, hours: unmeasured, from: measured, isLoss: true });
  return [
    ...first,
    { kind: "idle", label: t`Idle`, hours: idle, from: Math.max(0, measured - idle), isLoss: true },
    { kind: "busy", label: t`Busy`, hours: busy, from: 0, isLoss: false },
  ];
}
