// SPDX-License-Identifier: Apache-2.0
// Limits of users in a form: those of a node of the tree, GPUs in sum and budgets.
import { t } from "@lingui/core/macro";

import type { UserQuotaPatch } from "@/api/types";
import { type Count, limitRules, type TypedLimits } from "@/features/quotas/nodes/typedLimits";
import { asBudgets, type TypedBudget } from "@/features/quotas/rules";
import { GIB } from "@/lib/quantities";

export const USER_COUNTS: Count[] = [
  { name: "max_gpus", label: t`GPUs`, description: t`of all types, at a time`, unit: 1 },
  { name: "max_cpus", label: t`CPUs`, description: t`that pods request`, unit: 1 },
  { name: "max_memory_bytes", label: t`Memory (GiB)`, description: t`that pods request`, unit: GIB },
  { name: "max_running_jobs", label: t`Running jobs`, description: t`at a time`, unit: 1 },
  { name: "max_waiting_jobs", label: t`Waiting jobs`, description: t`at a time`, unit: 1 },
  { name: "max_storage_bytes", label: t`Storage (GiB)`, description: t`of the organisation`, unit: GIB },
];

export type TypedUserLimits = TypedLimits & { budgets?: TypedBudget[] };

/** Only what was typed, so that the rest stays as it is. */
export function asLimits(typed: TypedUserLimits): Omit<UserQuotaPatch, "username" | "version"> {
  const limits = limitRules(typed, USER_COUNTS);
  return typed.budgets === undefined ? limits : { ...limits, budgets: asBudgets(typed.budgets) };
}
