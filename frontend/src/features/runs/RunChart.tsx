// SPDX-License-Identifier: Apache-2.0
// The curve of one metric of a run, read when it comes into view; dragging over one reads a part of all with what the whole leaves out.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { RunCurve, RunMetric } from "@/api/types";
import { MetricFigure } from "@/components/chart/metric/MetricFigure";
import type { ChartSettings } from "@/components/chart/metric/useChartSettings";
import { useSeenWidth } from "@/components/chart/useSeenWidth";
import { runCurveQuery, runRangeQuery } from "@/features/runs/queries";
import { csvOf } from "@/lib/download";
import { NO_CURVES, type CurvePoint, type StepRange } from "@/lib/curves/series";

interface Props {
  id: string;
  metric: RunMetric;
  settings: ChartSettings;
  /** Of steps; null: the whole curve. */
  range: StepRange | null;
  onRange: (range: StepRange | null) => void;
}

export function RunChart({ id, metric, settings, range, onRange }: Props) {
  const { ref, width } = useSeenWidth<HTMLElement>();
  const isSeen = width !== null;
  const { key, n_points: nPoints } = metric;
  const whole = useQuery({ ...runCurveQuery(id, key, nPoints), enabled: isSeen });
  const isPartial = range !== null && whole.data?.is_thinned === true; // a curve without gaps has all of its part
  const part = useQuery({ ...runRangeQuery(id, key, nPoints, range), enabled: isSeen && isPartial });
  const shown = isPartial ? (part.data ?? whole.data) : whole.data;
  const curves = useMemo(() => (shown === undefined ? NO_CURVES : new Map([[key, drawn(shown, range)]])), [key, shown, range]);
  return (
    <MetricFigure
      ref={ref}
      name={key}
      labels={[key]}
      curves={curves}
      settings={settings}
      isSeen={isSeen}
      failed={[whole, part].find(({ error }) => error !== null)}
      csv={() => csvOfCurve(shown, range)}
      onRange={onRange}
    />
  );
}

/** The points that are shown, a row each, without smoothing. */
function csvOfCurve(curve: RunCurve | undefined, range: StepRange | null): string {
  const rows = (curve?.points ?? []).filter(({ step }) => isWithin(step, range)).map(({ step, value, at }) => [curve?.key, step, value ?? "", at] as const);
  return csvOf([["metric", "step", "value", "at"], ...rows]);
}

/** Of several points of a step the last one; values that are not finite are gaps. */
function drawn({ points }: RunCurve, range: StepRange | null): CurvePoint[] {
  const found = new Map<number, CurvePoint>();
  for (const { step, at, value } of points) {
    if (value !== null && isWithin(step, range)) found.set(step, { step, at, value, epoch: 0, attempt_number: 1 });
  }
  return [...found.values()];
}

function isWithin(step: number, range: StepRange | null): boolean {
  return range === null || (range.first <= step && step <= range.last);
}
