// SPDX-License-Identifier: Apache-2.0
// The rules of an owner in the tree: their names, and the way from the API's values to fields and back.
import { t } from "@lingui/core/macro";

import type { Budget, QuotaOwner, QuotaRules } from "@/api/types";
import { limitRules, COUNTS, type TypedLimits } from "@/features/quotas/nodes/typedLimits";
import { asTypes } from "@/features/quotas/nodes/typesText";

export type NumberRule = "guarantee" | "max_gpus" | "borrow_limit" | "lend_limit" | "weight" | "max_priority";

export const NUMBERS: { name: NumberRule; label: string; description: string; empty: string }[] = [
  { name: "guarantee", label: t`Guarantee`, description: t`GPUs it can always have back`, empty: t`None` },
  { name: "max_gpus", label: t`At most`, description: t`GPUs, borrowed ones included`, empty: t`No limit` },
  { name: "borrow_limit", label: t`May borrow`, description: t`GPUs above its guarantee`, empty: t`No limit` },
  { name: "lend_limit", label: t`May lend`, description: t`idle GPUs of its guarantee`, empty: t`No limit` },
  { name: "weight", label: t`Weight`, description: t`its part, where those above share fairly`, empty: "1" },
  { name: "max_priority", label: t`Highest priority`, description: t`that members give their jobs`, empty: t`Usual` },
];

export type TypeRule = "guarantee_by_type" | "borrow_limit_by_type" | "lend_limit_by_type";

/** Of single GPU types, typed as "A100: 2, T4: 4". */
export const OF_TYPES: { name: TypeRule; label: string; description: string; empty: string }[] = [
  {
    name: "guarantee_by_type",
    label: t`Guarantee by type`,
    description: t`a part of the guarantee, as in A100: 2, T4: 4`,
    empty: t`None`,
  },
  {
    name: "borrow_limit_by_type",
    label: t`May borrow by type`,
    description: t`GPUs above its guarantee of the type, as in A100: 2`,
    empty: t`No limit`,
  },
  {
    name: "lend_limit_by_type",
    label: t`May lend by type`,
    description: t`idle GPUs of its guarantee of the type, as in A100: 2`,
    empty: t`No limit`,
  },
];

/** How an owner shares out what none of its parts is guaranteed. */
export const SHARING = [
  { value: "policy", label: t`In the policy's order` },
  { value: "fair", label: t`Fairly, by weight` },
];

/** Seconds in the API, hours on the page. */
const HOUR_S = 3600;

export const RECLAIM = [
  { value: "any", label: t`At once, from any job that borrows` },
  { value: "lower_priority", label: t`Only from jobs of lower priority` },
  { value: "never", label: t`Never: wait until borrowers end` },
];

/** A budget while it is typed. */
export type TypedBudget = Omit<Budget, "gpu_hours"> & { gpu_hours: string | number };

export const NEW_BUDGET: TypedBudget = { gpu_hours: "", period: "month", on_exhausted: "stop_new", gpu_type: "" };

export function typedBudgets({ budgets }: QuotaOwner): TypedBudget[] {
  return budgets.map(({ gpu_hours, period, on_exhausted, gpu_type }) => ({ gpu_hours, period, on_exhausted, gpu_type }));
}

export function asBudgets(typed: readonly TypedBudget[]): Budget[] {
  return typed.map((budget) => ({ ...budget, gpu_hours: Number(budget.gpu_hours), gpu_type: budget.gpu_type.trim() }));
}

/** What was typed so far; "" is no limit, no guarantee. */
export type Typed = Partial<Record<NumberRule, string | number> & Record<TypeRule, string>> & TypedLimits & {
  reclaim?: QuotaRules["reclaim"];
  shares_fairly?: boolean;
  half_life_h?: string | number;
  budgets?: TypedBudget[];
};

/** Only what was typed, so that the rest stays as it is. */
export function asRules(typed: Typed): QuotaRules {
  const rules: QuotaRules = limitRules(typed, COUNTS);
  for (const { name } of NUMBERS) {
    const value = typed[name];
    if (value === undefined) continue;
    if (name === "weight") rules.weight = value === "" ? 1 : Number(value);
    else rules[name] = value === "" ? null : Math.round(Number(value));
  }
  for (const { name } of OF_TYPES) {
    const text = typed[name];
    if (text !== undefined) rules[name] = asTypes(text) ?? {};
  }
  if (typed.reclaim !== undefined) rules.reclaim = typed.reclaim;
  if (typed.shares_fairly !== undefined) rules.shares_fairly = typed.shares_fairly;
  if (typed.half_life_h !== undefined) rules.half_life_s = Number(typed.half_life_h) * HOUR_S;
  if (typed.budgets !== undefined) rules.budgets = asBudgets(typed.budgets);
  return rules;
}

export function halfLifeHours(owner: QuotaOwner): number {
  return owner.half_life_s / HOUR_S;
}

/** Whose quota the what-if is about. Jobs that have a higher priority than the highest one keep it. */
export function asHypotheticalQuota(owner: QuotaOwner, rules: QuotaRules) {
  const wish = { ...rules };
  delete wish.max_priority;
  return { ...wish, [owner.kind]: owner.id };
}
