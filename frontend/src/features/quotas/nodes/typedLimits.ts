// SPDX-License-Identifier: Apache-2.0
// Limits of a node of the tree, or of users there, in a form: what was typed, and the way from the API's values to fields and
// back.
import { t } from "@lingui/core/macro";

import { asTypes } from "@/features/quotas/nodes/typesText";
import { GIB } from "@/lib/quantities";

export type CountName =
  | "max_gpus"
  | "max_cpus"
  | "max_memory_bytes"
  | "max_running_jobs"
  | "max_waiting_jobs"
  | "max_storage_bytes";

/** A limit that is one number. unit: what one in the field is in the API. */
export interface Count<Name extends CountName = CountName> {
  name: Name;
  label: string;
  description: string;
  unit: number;
}

export const COUNTS: Count[] = [
  { name: "max_cpus", label: t`CPUs`, description: t`that pods request`, unit: 1 },
  { name: "max_memory_bytes", label: t`Memory (GiB)`, description: t`that pods request`, unit: GIB },
  { name: "max_running_jobs", label: t`Running jobs`, description: t`at a time`, unit: 1 },
  { name: "max_waiting_jobs", label: t`Waiting jobs`, description: t`further ones are refused`, unit: 1 },
  { name: "max_storage_bytes", label: t`Storage (GiB)`, description: t`each content counts once`, unit: GIB },
];

/** As the API has them. */
export type Limits<Name extends CountName = CountName> = Record<Name, number | null> & {
  gpus_by_type: Record<string, number>;
};

/** What was typed so far; "" is no limit. types: "A100: 2, T4: 4" */
export type TypedLimits = Partial<Record<CountName, string | number>> & { types?: string };

export function asCount<Name extends CountName>(
  limits: Limits<Name> | undefined,
  { name, unit }: Count<Name>,
): string | number {
  const value = limits?.[name] ?? null;
  return value === null ? "" : Math.round((value / unit) * 100) / 100;
}

/** Only what was typed, so that the rest stays as it is. */
export function limitRules<Name extends CountName>(
  typed: TypedLimits,
  counts: readonly Count<Name>[],
): Partial<Record<Name, number | null>> & { gpus_by_type?: Record<string, number> } {
  const rules: Partial<Record<CountName, number | null>> & { gpus_by_type?: Record<string, number> } = {};
  for (const { name, unit } of counts) {
    const value = typed[name];
    if (value !== undefined) rules[name] = value === "" ? null : Math.round(Number(value) * unit);
  }
  if (typed.types !== undefined) rules.gpus_by_type = asTypes(typed.types) ?? {};
  return rules;
}
