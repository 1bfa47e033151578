// The rules of an owner in the tree: their names, and the way from the API's values to fields and back.
import type { QuotaOwner, QuotaRules } from "@/api/types";

export type NumberRule = "guarantee" | "max_gpus" | "borrow_limit" | "lend_limit" | "weight";

export const NUMBERS: { name: NumberRule; label: string; description: string; empty: string }[] = [
  { name: "guarantee", label: "Guarantee", description: "GPUs it can always have back", empty: "None" },
  { name: "max_gpus", label: "At most", description: "GPUs, borrowed ones included", empty: "No limit" },
  { name: "borrow_limit", label: "May borrow", description: "GPUs above its guarantee", empty: "No limit" },
  { name: "lend_limit", label: "May lend", description: "idle GPUs of its guarantee", empty: "No limit" },
  { name: "weight", label: "Weight", description: "its part, where a policy shares by weight", empty: "1" },
];

export const RECLAIM = [
  { value: "any", label: "At once, from any job that borrows" },
  { value: "lower_priority", label: "Only from jobs of lower priority" },
  { value: "never", label: "Never: wait until borrowers end" },
];

/** What was typed so far; "" is no limit, no guarantee. */
export type Typed = Partial<Record<NumberRule, string | number>> & { reclaim?: QuotaRules["reclaim"] };

/** Only what was typed, so that the rest stays as it is. */
export function asRules(typed: Typed): QuotaRules {
  const rules: QuotaRules = {};
  for (const { name } of NUMBERS) {
    const value = typed[name];
    if (value === undefined) continue;
    if (name === "weight") rules.weight = value === "" ? 1 : Number(value);
    else rules[name] = value === "" ? null : Math.round(Number(value));
  }
  if (typed.reclaim !== undefined) rules.reclaim = typed.reclaim;
  return rules;
}

/** Whose quota the what-if is about. */
export function asWish(owner: QuotaOwner, rules: QuotaRules) {
  return { ...rules, [owner.kind]: owner.id };
}
