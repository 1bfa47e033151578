// SPDX-License-Identifier: Apache-2.0
// How values of a unit are written on an axis, and where its ticks may be: a quarter of an hour is round, 1,000 s are not.
import { bytes } from "@/lib/quantities";
import { durationTick, shortDuration } from "@/lib/time";

export interface AxisUnit {
  /** How a value is written by itself. */
  text: (value: number) => string;
  /** How it is written at a tick, where ticks are `step` apart; left out: as by itself. */
  tick?: (value: number, step: number) => string;
  /** How far ticks may be apart, rising; left out: by powers of ten. */
  steps?: number[];
}

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3600, 86_400];
const TIME_STEPS_S = [
  ...[-3, -2, -1].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)),
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE_S),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR_S),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * DAY_S),
];
const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

export const SECONDS: AxisUnit = { text: shortDuration, tick: durationTick, steps: TIME_STEPS_S };
export const BYTES: AxisUnit = { text: bytes, steps: BYTE_STEPS };
