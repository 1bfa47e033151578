// SPDX-License-Identifier: Apache-2.0
// The chart of one group of metrics. Its curves are read when it comes into view; dragging over one reads a part of all exactly.
import { useQueries } from "@tanstack/react-query";
import { memo } from "react";

import type { Mark } from "@/components/chart/CurveChart";
import { MetricFigure } from "@/components/chart/metric/MetricFigure";
import type { ChartSettings } from "@/components/chart/metric/useChartSettings";
import { useSeenWidth } from "@/components/chart/useSeenWidth";
import { csvOf } from "@/lib/download";
import type { CurveGroup, CurvePoint, StepRange } from "@/lib/curves/series";

import { MAX_POINTS, curveQuery, rangeQuery } from "./metricQueries";

const LEAST_POINTS = 400;

interface Props {
  id: string;
  group: CurveGroup;
  marks: readonly Mark[];
  settings: ChartSettings;
  /** null: the whole curve. */
  range: StepRange | null;
  onRange: (range: StepRange | null) => void;
}

export const MetricChart = memo(function MetricChart({ id, group, marks, settings, range, onRange }: Props) {
  const { ref, width } = useSeenWidth<HTMLElement>();
  const maxPoints = pointsFor(width ?? 0);
  const isSeen = width !== null;

  const whole = useQueries({
    queries: group.keys.map((key) => ({ ...curveQuery(id, key, maxPoints), enabled: isSeen })),
  });
  const parts = useQueries({
    queries: range === null ? [] : group.keys.map((key) => ({ ...rangeQuery(id, key, range, maxPoints), enabled: isSeen })),
  });
  const shown = group.keys.map((_, place) => parts[place]?.data ?? within(whole[place]?.data, range));
  const curves = new Map(
    group.keys.flatMap((key, place) => (shown[place] === undefined ? [] : [[key, shown[place]] as const])),
  );
  const failed = [...whole, ...parts].find(({ error }) => error !== null);

  return (
    <MetricFigure
      ref={ref}
      name={group.name}
      labels={group.keys}
      curves={curves}
      settings={settings}
      isSeen={isSeen}
      failed={failed}
      csv={() => csvOfCurves(curves)}
      marks={marks}
      onRange={onRange}
    />
  );
});

/** The points that are shown, a row each, without smoothing. */
function csvOfCurves(curves: ReadonlyMap<string, readonly CurvePoint[]>): string {
  const rows = [...curves].flatMap(([key, points]) =>
    points.map(({ step, epoch, value, at, attempt_number }) => [key, step, epoch, value, at, attempt_number] as const),
  );
  return csvOf([["metric", "step", "epoch", "value", "at", "attempt"], ...rows]);
}

/** Twice as many as it has pixels, in steps of 200. */
function pointsFor(width: number): number {
  return Math.min(MAX_POINTS, Math.max(LEAST_POINTS, Math.ceil((2 * width) / 200) * 200));
}

function within(points: readonly CurvePoint[] | undefined, range: StepRange | null): readonly CurvePoint[] | undefined {
  if (range === null) return points;
  return points?.filter(({ step }) => range.first <= step && step <= range.last);
}
