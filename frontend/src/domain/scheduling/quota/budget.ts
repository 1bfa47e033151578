// SPDX-License-Identifier: Apache-2.0
// Budgets of GPU-hours in words. A period or an effect of the API that is missing here does not compile.
import { t } from "@lingui/core/macro";

import type { Budget, BudgetUse } from "@/api/types";
import { number, significant } from "@/lib/quantities";

export const PERIODS: Record<Budget["period"], string> = {
  day: t`per day`,
  week: t`per week`,
  month: t`per month`,
  once: t`once`,
};

export const EFFECTS: Record<Budget["on_exhausted"], string> = {
  alert: t`Notify only`,
  stop_new: t`No job starts`,
  stop_all: t`Running jobs stop, too`,
};

/** From here on a bar warns, as the alert does. */
export const NEARLY_USED = 0.8;

/** "GPU-hours per week on A100" */
export function budgetName({ period, gpu_type }: Pick<Budget, "period" | "gpu_type">): string {
  return gpu_type === "" ? t`GPU-hours ${PERIODS[period]}` : t`GPU-hours ${PERIODS[period]} on ${gpu_type}`;
}

/** The part that is used, 0 to 1. */
export function usedPart({ gpu_hours, used_gpu_hours, is_exhausted }: BudgetUse): number {
  return is_exhausted || gpu_hours === 0 ? 1 : Math.min(1, used_gpu_hours / gpu_hours);
}

/** "12.4 of 100", "0.016 of 0.05" */
export function usedText({ gpu_hours, used_gpu_hours }: BudgetUse): string {
  const used = used_gpu_hours < 1 ? significant(used_gpu_hours, 2) : Math.round(used_gpu_hours * 10) / 10;
  return t`${number(used)} of ${number(gpu_hours)}`;
}

/** What a budget that is used up does, and until when; "" while something is left. */
export function effectText({ is_exhausted, on_exhausted, ends_at }: BudgetUse): string {
  if (!is_exhausted) return "";
  const until = ends_at === null ? t`until the budget is raised` : t`until ${ends_at.slice(0, 10)}, 00:00 UTC`;
  if (on_exhausted === "stop_all") return t`Used up: jobs are stopped and wait ${until}`;
  if (on_exhausted === "stop_new") return t`Used up: no job starts ${until}`;
  return t`Used up; nothing stops`;
}
