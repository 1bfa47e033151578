// SPDX-License-Identifier: Apache-2.0
// GPU-hours and money, in words.
import { t } from "@lingui/core/macro";

import { number, percent, significant } from "@/lib/quantities";

/** "12.3 GPU-hours". */
export function gpuHours(hours: number): string {
  return t`${hourDigits(hours)} GPU-hours`;
}

/** "12.3". */
export function hourDigits(hours: number): string {
  return number(significant(hours, 3));
}

/** "2.50 EUR"; "–" without a price. */
export function money(cost: number | null, currency: string): string {
  return cost === null ? "–" : `${cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency}`.trim();
}

/** "1.2 (10 %)" of a whole. */
export function part(hours: number, whole: number): string {
  return whole === 0 ? hourDigits(hours) : `${hourDigits(hours)} (${percent(hours / whole)})`;
}

/** "1.2 (75 %)" of what was measured; where nothing was, the text instead. */
export function measuredPart(hours: number | null, measured: number, absent: string): string {
  return hours === null ? absent : part(hours, measured);
}
