// SPDX-License-Identifier: Apache-2.0
// An organisation's bounds and defaults of retention, as they are typed, sent and shown.
import { t } from "@lingui/core/macro";

import { daysText, KINDS, type RetentionKind } from "@/features/retention/kinds";

export const FIELDS = ["least_days", "most_days", "default_days"] as const;
export type RuleField = (typeof FIELDS)[number];

export const FIELD_LABELS: Record<RuleField, string> = {
  least_days: t`At least`,
  most_days: t`At most`,
  default_days: t`By default`,
};

/** What was typed so far; "" is nothing. */
export type TypedRules = Partial<Record<RetentionKind, Partial<Record<RuleField, string | number>>>>;

export function asRules(typed: TypedRules): Partial<Record<RetentionKind, Partial<Record<RuleField, number | null>>>> {
  const kinds = Object.entries(typed).map(([kind, fields]) => [
    kind,
    Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, value === "" ? null : Number(value)])),
  ]);
  return Object.fromEntries(kinds) as ReturnType<typeof asRules>;
}

/** What the API's names of fields are called, as in "logs.most_days". */
export function fieldLabels(): Record<string, string> {
  const kinds = Object.entries(KINDS).flatMap(([kind, label]) =>
    FIELDS.map((field) => [`${kind}.${field}`, `${label}: ${FIELD_LABELS[field]}`]),
  );
  return Object.fromEntries(kinds) as Record<string, string>;
}

/** days: null = nothing is said; of a default 0 = for good. */
export function valueText(field: RuleField, days: number | null): string {
  if (days === null) return field === "default_days" ? t`as the installation` : t`no bound`;
  return daysText(days || null);
}
