// SPDX-License-Identifier: Apache-2.0
// What a simulated change does to jobs, in words.
import { plural, t } from "@lingui/core/macro";

import type { Effect } from "@/api/types";
import { DECISIONS } from "@/domain/scheduling/decision";
import { number } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

/** "1 job would finish earlier, 2 later." */
export function effectsText(effects: Effect[]): string {
  const others = effects.filter(({ role }) => role !== "cancelled");
  const earlier = others.filter(({ finish_delta_s: delta }) => delta !== null && delta < 0).length;
  const later = others.filter(({ finish_delta_s: delta }) => delta !== null && delta > 0).length;
  if (earlier + later === 0) return t`None of your other jobs would finish at another time.`;
  return t`${plural(earlier, { one: "# job", other: "# jobs" })} would finish earlier, ${number(later)} later.`;
}

export function outcomeText(outcome: Effect["after"]): string {
  if (outcome === null) return t`does not exist`;
  const { hypothetical } = DECISIONS[outcome.decision];
  return outcome.n_workers > 0 && outcome.decision !== "preempt"
    ? `${hypothetical}, ${plural(outcome.n_workers, { one: "# GPU", other: "# GPUs" })}`
    : hypothetical;
}

/** "14:05 (3 min 00 s earlier)". */
export function timeWithShift(at: string | null | undefined, delta_s: number | null): string {
  if (!at) return "–";
  if (delta_s === null || Math.abs(delta_s) < 1) return clock(at);
  return `${clock(at)} (${duration(Math.abs(delta_s))} ${delta_s < 0 ? t`earlier` : t`later`})`;
}
