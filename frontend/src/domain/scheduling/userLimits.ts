// SPDX-License-Identifier: Apache-2.0
// What one user may have of an organisation, a team or a project, as rows: name, limit, and what is used of it.
import { t } from "@lingui/core/macro";

import type { UserQuota } from "@/api/types";
import { budgetName } from "@/domain/scheduling/budget";
import { bytes, number } from "@/lib/quantities";

export interface UserLimitRow {
  label: string;
  /** What is used; null for limits of every user. */
  used: number | null;
  most: number;
  shown: (n: number) => string;
}

/** Limits that are set, in the order of the form. */
export function userLimitRows(quota: UserQuota): UserLimitRow[] {
  const { used } = quota;
  const rows: (UserLimitRow | null)[] = [
    row(t`GPUs`, quota.max_gpus, used?.gpus, number),
    ...Object.entries(quota.gpus_by_type).map(([type, most]) =>
      row(t`GPUs of type ${type}`, most, used === null ? undefined : (used.gpus_by_type[type] ?? 0), number),
    ),
    row(t`Running jobs`, quota.max_running_jobs, used?.running_jobs, number),
    row(t`Waiting jobs`, quota.max_waiting_jobs, used?.waiting_jobs, number),
    row(t`Storage`, quota.max_storage_bytes, used?.storage_bytes ?? undefined, bytes),
    ...quota.budgets.map((budget, index) =>
      row(budgetName(budget), budget.gpu_hours, used?.budgets[index]?.used_gpu_hours, hours),
    ),
  ];
  return rows.filter((one) => one !== null);
}

/** "2 of 4", or "4" where nothing is known to be used. */
export function userLimitText({ used, most, shown }: UserLimitRow): string {
  return used === null ? shown(most) : t`${shown(used)} of ${shown(most)}`;
}

/** The part that is used, 0 to 1. */
export function userLimitPart({ used, most }: UserLimitRow): number {
  if (used === null) return 0;
  return most === 0 ? 1 : Math.min(1, used / most);
}

function row(
  label: string,
  most: number | null,
  used: number | undefined,
  shown: (n: number) => string,
): UserLimitRow | null {
  return most === null ? null : { label, most, used: used ?? null, shown };
}

function hours(n: number): string {
  return number(Math.round(n * 10) / 10);
}
