// SPDX-License-Identifier: Apache-2.0
// What a project keeps for some days, in words. A kind of the API that is missing here does not compile.
import { plural, t } from "@lingui/core/macro";

import type { EffectiveDays, Reclaimable, RetentionBound } from "@/api/types";

export type RetentionKind = Reclaimable["kind"];

export const KINDS: Record<RetentionKind, string> = {
  logs: t`Logs`,
  metrics: t`Metrics`,
  usage: t`Resource use`,
  results: t`Predictions`,
  checkpoints: t`Checkpoints`,
  failed_checkpoints: t`Checkpoints of failed jobs`,
};

/** What was typed so far; "" is by default. */
export type TypedDays = Partial<Record<RetentionKind, string | number>>;

export function asDays(typed: TypedDays): Partial<Record<RetentionKind, number | null>> {
  const entries = Object.entries(typed).map(([kind, value]) => [kind, value === "" ? null : Number(value)]);
  return Object.fromEntries(entries) as Partial<Record<RetentionKind, number | null>>;
}

/** days: null = for good. */
export function daysText(days: number | null): string {
  return days === null ? t`for good` : plural(days, { one: "# day", other: "# days" });
}

/** organisation: its name. */
export function boundText({ owner, side, days }: RetentionBound, organisation: string): string {
  const bound = daysText(days);
  if (owner === "organisation") {
    return side === "at_least" ? t`${organisation}: at least ${bound}` : t`${organisation}: at most ${bound}`;
  }
  return side === "at_least" ? t`the installation: at least ${bound}` : t`the installation: at most ${bound}`;
}

/** Whose rule holds, where it is not the project's own. */
export function ruleText(ruleOf: EffectiveDays["rule_of"], organisation: string): string {
  if (ruleOf === "organisation") return t`as ${organisation} has it`;
  return ruleOf === "installation" ? t`as the installation` : t`own rule`;
}

export function jobsText(n: number): string {
  return plural(n, { one: "# job", other: "# jobs" });
}
