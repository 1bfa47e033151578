// SPDX-License-Identifier: Apache-2.0
// The curve of one metric of a run, read when it comes into view.
import { t } from "@lingui/core/macro";
import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";

import type { RunCurve, RunMetric } from "@/api/types";
import { CHART_HEIGHT } from "@/components/chart/chartHeight";
import { useSeenWidth } from "@/components/chart/useSeenWidth";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { runCurveQuery } from "@/features/runs/queries";
import { lazyComponent } from "@/lib/chunk";
import type { CurvePoint } from "@/lib/curves/series";

const CurveChart = lazyComponent(async () => (await import("@/components/chart/CurveChart")).CurveChart);

export function RunChart({ id, metric }: { id: string; metric: RunMetric }) {
  const { ref, width } = useSeenWidth<HTMLElement>();
  const curve = useQuery({ ...runCurveQuery(id, metric.key, metric.n_points), enabled: width !== null });
  const curves = useMemo(() => new Map([[metric.key, drawn(curve.data)]]), [metric.key, curve.data]);
  return (
    <figure ref={ref} style={{ margin: 0, minWidth: 0 }} aria-label={t`Curve of ${metric.key} by step`}>
      <Text component="figcaption" size="sm" fw={600} truncate title={metric.key} h={28}>
        {metric.key}
      </Text>
      <ProblemAlert error={curve.error} onRetry={() => void curve.refetch()} />
      {curve.error === null && (
        <Suspense fallback={<Skeleton h={CHART_HEIGHT} />}>
          {curve.data ? (
            <CurveChart labels={[metric.key]} curves={curves} marks={[]} />
          ) : (
            <Skeleton h={CHART_HEIGHT} animate={width !== null} />
          )}
        </Suspense>
      )}
    </figure>
  );
}

/** Of several points of a step the last one; values that are not finite are gaps. */
function drawn(curve: RunCurve | undefined): CurvePoint[] {
  const found = new Map<number, CurvePoint>();
  for (const { step, at, value } of curve?.points ?? []) {
    if (value !== null) found.set(step, { step, at, value, epoch: 0, attempt_number: 1 });
  }
  return [...found.values()];
}
