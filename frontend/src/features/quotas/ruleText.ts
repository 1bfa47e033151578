// SPDX-License-Identifier: Apache-2.0
// A rule of a quota and its value in words, as history and conflicts show them.
import { t } from "@lingui/core/macro";

import type { Budget } from "@/api/types";
import { budgetName } from "@/domain/scheduling/quota/budget";
import { NUMBERS, OF_TYPES } from "@/features/quotas/rules";
import { number } from "@/lib/quantities";

const NAMES: Record<string, string> = {
  ...Object.fromEntries([...NUMBERS, ...OF_TYPES].map(({ name, label }) => [name, label])),
  max_running_jobs: t`Running jobs`,
  max_storage_bytes: t`Storage, bytes`,
  max_cpus: t`CPUs`,
  max_memory_bytes: t`Memory, bytes`,
  reclaim: t`Takes back`,
  shares_fairly: t`Its parts share fairly`,
  half_life_s: t`Half-life of use, seconds`,
  budgets: t`Budgets`,
  max_waiting_jobs: t`Waiting jobs`,
  gpus_by_type: t`GPUs by type`,
};

export function ruleName(name: string): string {
  return NAMES[name] ?? name;
}

/** "none" where nothing is set. */
export function ruleText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.map((budget) => budgetText(budget as Budget)).join("; ") || "none";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? t`yes` : t`no`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function budgetText(budget: Budget): string {
  return `${number(budget.gpu_hours)} ${budgetName(budget)}`;
}
