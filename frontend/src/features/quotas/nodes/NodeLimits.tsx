// SPDX-License-Identifier: Apache-2.0
// What a node of the tree may have besides GPUs in sum: GPUs of single types, CPUs, memory, jobs, storage; and what is
// used of it.
import { t } from "@lingui/core/macro";
import { Box } from "@mantine/core";

import type { QuotaOwner } from "@/api/types";
import { LimitBars } from "@/components/display/quota/LimitBars";
import { type LimitRow, limitRow } from "@/domain/scheduling/quota/limits";
import { bytes, number } from "@/lib/quantities";

export function NodeLimits({ owner }: { owner: QuotaOwner }) {
  return (
    <Box mt={4}>
      <LimitBars rows={nodeLimitRows(owner)} name={owner.name} />
    </Box>
  );
}

/** GPUs that boosts add to the limit of the type now. */
function boosted({ boosts }: QuotaOwner, type: string): number {
  return boosts.reduce((total, { extra_gpus_by_type }) => total + (extra_gpus_by_type[type] ?? 0), 0);
}

/** An organisation's running jobs and storage stand above the tree, with its GPUs. */
function nodeLimitRows(owner: QuotaOwner): LimitRow[] {
  const isPart = owner.kind !== "organisation";
  const rows = [
    ...Object.entries(owner.gpus_by_type).map(([type, most]) =>
      limitRow(t`GPUs of type ${type}`, most + boosted(owner, type), owner.used_by_type[type] ?? 0, number),
    ),
    limitRow(t`CPUs`, owner.max_cpus, owner.used_cpus, number),
    limitRow(t`Memory`, owner.max_memory_bytes, owner.used_memory_bytes, bytes),
    isPart ? limitRow(t`Running jobs`, owner.max_running_jobs, owner.running_jobs, number) : null,
    limitRow(t`Waiting jobs`, owner.max_waiting_jobs, owner.waiting_jobs, number),
    isPart ? limitRow(t`Storage`, owner.max_storage_bytes, owner.storage_bytes, bytes) : null,
  ];
  return rows.filter((one) => one !== null);
}
