// SPDX-License-Identifier: Apache-2.0
// Lengths and sample rates of clips, in words.
import { t } from "@lingui/core/macro";

import { number } from "@/lib/quantities";

/** "0.2 s", "1:05 min", "2.3 h". */
export function duration(seconds: number): string {
  if (seconds < 60) return t`${number(Number(seconds.toPrecision(3)))} s`;
  if (seconds >= 3600) return t`${number(Math.round(seconds / 360) / 10)} h`;
  const whole = Math.round(seconds);
  return t`${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} min`;
}

/** "44.1 kHz". */
export function hertz(rate: number): string {
  return t`${number(rate / 1000)} kHz`;
}
