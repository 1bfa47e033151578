// SPDX-License-Identifier: Apache-2.0
// What a project keeps for some days, in words. A kind of the API that is missing here does not compile.
import { plural, t } from "@lingui/core/macro";

import type { Reclaimable } from "@/api/types";

export type RetentionKind = Reclaimable["kind"];

export const KINDS: Record<RetentionKind, string> = {
  logs: t`Logs`,
  metrics: t`Metrics`,
  usage: t`Resource use`,
  results: t`Predictions`,
  checkpoints: t`Checkpoints`,
  failed_checkpoints: t`Checkpoints of failed jobs`,
};

/** What was typed so far; "" is as the installation has it. */
export type TypedDays = Partial<Record<RetentionKind, string | number>>;

export function asDays(typed: TypedDays): Partial<Record<RetentionKind, number | null>> {
  const entries = Object.entries(typed).map(([kind, value]) => [kind, value === "" ? null : Number(value)]);
  return Object.fromEntries(entries) as Partial<Record<RetentionKind, number | null>>;
}

/** days: null = for good. */
export function daysText(days: number | null): string {
  return days === null ? t`for good` : plural(days, { one: "# day", other: "# days" });
}
