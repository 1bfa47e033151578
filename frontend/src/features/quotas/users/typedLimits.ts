// SPDX-License-Identifier: Apache-2.0
// Limits of users in a form: what was typed, and the way from the API's values to fields and back.
import { t } from "@lingui/core/macro";

import type { UserQuota, UserQuotaPatch } from "@/api/types";
import type { TypedBudget } from "@/features/quotas/rules";
import { asTypes } from "@/features/quotas/nodes/typesText";
import { GIB } from "@/lib/quantities";

export type CountName = "max_gpus" | "max_running_jobs" | "max_waiting_jobs" | "max_storage_bytes";

export const COUNTS: { name: CountName; label: string; description: string; unit: number }[] = [
  { name: "max_gpus", label: t`GPUs`, description: t`of all types, at a time`, unit: 1 },
  { name: "max_running_jobs", label: t`Running jobs`, description: t`at a time`, unit: 1 },
  { name: "max_waiting_jobs", label: t`Waiting jobs`, description: t`at a time`, unit: 1 },
  { name: "max_storage_bytes", label: t`Storage (GiB)`, description: t`of the organisation`, unit: GIB },
];

/** What was typed so far; "" is no limit. types: "A100: 2, T4: 4" */
export type TypedLimits = Partial<Record<CountName, string | number>> & { types?: string; budgets?: TypedBudget[] };

export function asCount(quota: UserQuota | undefined, { name, unit }: (typeof COUNTS)[number]): string | number {
  const value = quota?.[name] ?? null;
  return value === null ? "" : Math.round((value / unit) * 100) / 100;
}

/** Only what was typed, so that the rest stays as it is. */
export function asLimits(typed: TypedLimits): Omit<UserQuotaPatch, "username" | "version"> {
  const limits: Omit<UserQuotaPatch, "username" | "version"> = {};
  for (const { name, unit } of COUNTS) {
    const value = typed[name];
    if (value !== undefined) limits[name] = value === "" ? null : Math.round(Number(value) * unit);
  }
  if (typed.types !== undefined) limits.gpus_by_type = asTypes(typed.types) ?? {};
  if (typed.budgets !== undefined) {
    limits.budgets = typed.budgets.map((budget) => ({
      ...budget,
      gpu_hours: Number(budget.gpu_hours),
      gpu_type: budget.gpu_type.trim(),
    }));
  }
  return limits;
}
