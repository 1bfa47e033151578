// SPDX-License-Identifier: Apache-2.0
// The three limits of a quota: their names, and the way from the API's numbers to a field's text and back.
import { t } from "@lingui/core/macro";

import type { Quota, QuotaPatch } from "@/api/types";
import { bytes, GIB, number } from "@/lib/quantities";

export type LimitName = "max_gpus" | "max_running_jobs" | "max_storage_bytes";

export interface Limit {
  name: LimitName;
  label: string;
  used: (quota: Quota) => number;
  shown: (n: number) => string;
  /** What one unit in the field stands for. */
  unit: number;
  isWhole: boolean;
}

export const LIMITS: Limit[] = [
  { name: "max_gpus", label: t`GPUs`, used: ({ used }) => used.gpus, shown: number, unit: 1, isWhole: true },
  {
    name: "max_running_jobs",
    label: t`Running jobs`,
    used: ({ used }) => used.running_jobs,
    shown: number,
    unit: 1,
    isWhole: true,
  },
  {
    name: "max_storage_bytes",
    label: t`Storage (GiB)`,
    used: ({ used }) => used.storage_bytes,
    shown: bytes,
    unit: GIB,
    isWhole: false,
  },
];

/** What people typed so far, by limit; "" is no limit. */
export type Typed = Partial<Record<LimitName, string | number>>;

export function asTyped(quota: Quota, { name, unit }: Limit): string | number {
  const value = quota[name];
  return value === null ? "" : Math.round((value / unit) * 100) / 100;
}

/** Only what was typed, so that the rest stays as it is. */
export function asPatch(typed: Typed, version: number): QuotaPatch {
  const patch: QuotaPatch = { version };
  for (const { name, unit } of LIMITS) {
    const value = typed[name];
    if (value !== undefined) patch[name] = value === "" ? null : Math.round(Number(value) * unit);
  }
  return patch;
}
