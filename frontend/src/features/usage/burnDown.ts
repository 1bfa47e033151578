// SPDX-License-Identifier: Apache-2.0
// The burn-down of a budget: its lines in a drawing of 100 by 100, and what it says in words.
import { t } from "@lingui/core/macro";

import type { BurnDown } from "@/api/types";
import { gpuHours, hourDigits } from "@/features/usage/quantities";
import { csvOf } from "@/lib/download";
import { clock } from "@/lib/time";

/** Of the drawing's height a prediction far above the budget may have; more would make the rest flat. */
const MOST_ABOVE = 1.5;
const ROOM = 1.05;

export interface BurnDownLines {
  used: string;
  /** From nothing at the begin to the whole budget at the end; null where the period does not end. */
  even: string | null;
  predicted: string;
  /** The height of the budget. */
  budgetY: number;
  endsAt: string;
}

export function burnDownLines(one: BurnDown): BurnDownLines {
  const last = one.points[one.points.length - 1];
  const begin = Date.parse(one.began_at);
  const now = Date.parse(last?.at ?? one.began_at);
  const end = Math.max(endOf(one, begin, now), begin + 1);
  const used = last?.gpu_hours ?? 0;
  const atEnd = used + (one.gpu_hours_per_day * (end - now)) / 86_400_000;
  const top = ROOM * Math.max(one.gpu_hours, used, Math.min(atEnd, MOST_ABOVE * one.gpu_hours), 1e-9);
  const point = (at: number, hours: number) =>
    `${((100 * (at - begin)) / (end - begin)).toFixed(2)},${(100 - (100 * hours) / top).toFixed(2)}`;
  return {
    used: one.points.map(({ at, gpu_hours }) => point(Date.parse(at), gpu_hours)).join(" "),
    even: one.ends_at === null ? null : `${point(begin, 0)} ${point(end, one.gpu_hours)}`,
    predicted: `${point(now, used)} ${point(end, atEnd)}`,
    budgetY: 100 - (100 * one.gpu_hours) / top,
    endsAt: new Date(end).toISOString(),
  };
}

/** Of a budget without a period: when it is used up, at most as far ahead as it has been used until now. */
function endOf({ ends_at, exhausted_at }: BurnDown, begin: number, now: number): number {
  if (ends_at !== null) return Date.parse(ends_at);
  const furthest = now + Math.max(now - begin, 1);
  return exhausted_at === null ? furthest : Math.max(now, Math.min(Date.parse(exhausted_at), furthest));
}

export function burnDownText(one: BurnDown): string {
  const now = one.points[one.points.length - 1]?.at ?? one.began_at;
  if (one.exhausted_at !== null && Date.parse(one.exhausted_at) <= Date.parse(now)) {
    return t`It has been used up since ${clock(one.exhausted_at)}.`;
  }
  if (one.gpu_hours_per_day === 0) return t`Nothing was used since ${clock(one.rate_since)}.`;
  const rate = t`At the rate since ${clock(one.rate_since)}, ${gpuHours(one.gpu_hours_per_day)} a day,`;
  if (one.exhausted_at !== null) return t`${rate} it is used up by ${clock(one.exhausted_at)}.`;
  if (one.predicted_gpu_hours === null) return t`${rate} it is not used up.`;
  return t`${rate} ${hourDigits(one.predicted_gpu_hours)} of ${gpuHours(one.gpu_hours)} are used when the period ends.`;
}

export function csvOfBurnDown({ points, gpu_hours }: BurnDown): string {
  return csvOf([["at", "used_gpu_hours", "budget_gpu_hours"], ...points.map(({ at, gpu_hours: used }) => [at, used, gpu_hours])]);
}
