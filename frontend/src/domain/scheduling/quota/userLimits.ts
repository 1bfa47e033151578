// SPDX-License-Identifier: Apache-2.0
// What one user may have of an organisation, a team or a project, as rows.
import { t } from "@lingui/core/macro";

import type { UserQuota } from "@/api/types";
import { budgetName } from "@/domain/scheduling/quota/budget";
import { type LimitRow, limitRow } from "@/domain/scheduling/quota/limits";
import { bytes, number } from "@/lib/quantities";

/** Limits that are set, in the order of the form. */
export function userLimitRows(quota: UserQuota): LimitRow[] {
  const { used } = quota;
  const rows: (LimitRow | null)[] = [
    limitRow(t`GPUs`, quota.max_gpus, used?.gpus, number),
    ...Object.entries(quota.gpus_by_type).map(([type, most]) =>
      limitRow(t`GPUs of type ${type}`, most, used === null ? undefined : (used.gpus_by_type[type] ?? 0), number),
    ),
    limitRow(t`CPUs`, quota.max_cpus, used?.cpus, number),
    limitRow(t`Memory`, quota.max_memory_bytes, used?.memory_bytes, bytes),
    limitRow(t`Running jobs`, quota.max_running_jobs, used?.running_jobs, number),
    limitRow(t`Waiting jobs`, quota.max_waiting_jobs, used?.waiting_jobs, number),
    limitRow(t`Storage`, quota.max_storage_bytes, used?.storage_bytes, bytes),
    ...quota.budgets.map((budget, index) =>
      limitRow(budgetName(budget), budget.gpu_hours, used?.budgets[index]?.used_gpu_hours, hours),
    ),
  ];
  return rows.filter((one) => one !== null);
}

function hours(n: number): string {
  return number(Math.round(n * 10) / 10);
}
