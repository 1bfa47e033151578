// SPDX-License-Identifier: Apache-2.0
// The finish fan in numbers: the curve over time so far, and from its end the way to the predicted finish.
import type { JobDetail } from "@/api/types";
import type { CurvePoint } from "@/lib/curves/series";

import { fitCurve } from "./extrapolate";

export interface FanPoint {
  at_ms: number;
  value: number;
}

export interface Band extends FanPoint {
  low: number;
  high: number;
}

export interface Fan {
  past: FanPoint[];
  /** From the last point to the last step, on the way that ends at the median; empty where nothing is predicted. */
  future: Band[];
  /** The predicted finish: median, nine of ten, and what was predicted first. */
  p50_ms: number | null;
  p90_ms: number | null;
  first_ms: number | null;
  finished_ms: number | null;
  from_ms: number;
  to_ms: number;
  low: number;
  high: number;
}

const FUTURE_POINTS = 24;
const SPREADS = 1.28; // nine of ten within, were they normal
const MARGIN = 0.04;

/** null where there are too few points to draw a curve. */
export function fanOf(job: JobDetail, points: readonly CurvePoint[]): Fan | null {
  const past = points.flatMap(({ at, value }) => (Number.isFinite(value) ? [{ at_ms: Date.parse(at), value }] : []));
  if (past.length < 2) return null;
  const [p50_ms, p90_ms, first_ms, finished_ms] = [job.predicted_finish_at, job.predicted_finish_p90_at, job.first_predicted_finish_at, job.finished_at].map(parsed);
  const last = past.at(-1) as FanPoint;
  const isAhead = finished_ms === null && typeof p50_ms === "number" && p50_ms > last.at_ms;
  const future = isAhead ? futureOf(job, points, last, p50_ms) : [];
  const values = [...past.map(({ value }) => value), ...future.flatMap(({ low, high }) => [low, high])];
  const times = [last.at_ms, first_ms, finished_ms, ...(isAhead ? [p50_ms, p90_ms] : [])].filter((ms): ms is number => typeof ms === "number");
  const from_ms = past[0]?.at_ms ?? 0;
  const low = Math.min(...values);
  const high = Math.max(...values);
  const pad = (high - low || Math.abs(high) || 1) * MARGIN;
  const to_ms = Math.max(...times, from_ms + 1);
  return {
    past,
    future,
    p50_ms: isAhead ? p50_ms : null,
    p90_ms: isAhead ? (p90_ms ?? null) : null,
    first_ms: first_ms ?? null,
    finished_ms: finished_ms ?? null,
    from_ms,
    to_ms: to_ms + (to_ms - from_ms) * MARGIN,
    low: low - pad,
    high: high + pad,
  };
}

function futureOf(job: JobDetail, points: readonly CurvePoint[], last: FanPoint, end_ms: number): Band[] {
  const fit = fitCurve(points);
  const lastStep = points.at(-1)?.step ?? 0;
  const steps = job.steps_total > lastStep ? job.steps_total - lastStep : 0;
  if (fit === null || steps === 0) return [];
  const shift = last.value - fit.at(Math.max(1, lastStep)); // it goes on where the curve ends, and finds to the law
  return Array.from({ length: FUTURE_POINTS + 1 }, (_, index) => {
    const share = index / FUTURE_POINTS;
    const value = fit.at(Math.max(1, lastStep + share * steps)) + shift * (1 - share);
    const spread = SPREADS * fit.spread * Math.sqrt(share);
    return { at_ms: last.at_ms + share * (end_ms - last.at_ms), value, low: value - spread, high: value + spread };
  });
}

function parsed(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}
