// SPDX-License-Identifier: Apache-2.0
// One chart of metrics with its name and its menu. The parent reads the curves once it is seen: useSeenWidth().
import { t } from "@lingui/core/macro";
import { Group, Text } from "@mantine/core";
import { type ReactNode, type Ref, Suspense } from "react";

import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { useDrawing } from "@/components/chart/figure/useDrawing";
import type { Mark } from "@/components/chart/CurveChart";
import { CurveSkeleton } from "@/components/chart/metric/CurveSkeleton";
import type { ChartSettings } from "@/components/chart/metric/useChartSettings";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { lazyComponent } from "@/lib/chunk";
import type { Curves, StepRange } from "@/lib/curves/series";

/** The chart library is large, and nothing else on the page waits for it. */
const CurveChart = lazyComponent(async () => (await import("@/components/chart/CurveChart")).CurveChart);

interface Props {
  ref: Ref<HTMLElement>;
  name: string;
  labels: readonly string[];
  /** Those that were read; empty until then. */
  curves: Curves;
  settings: ChartSettings;
  /** Whether it has come into view. */
  isSeen: boolean;
  failed: { error: Error | null; refetch: () => unknown } | undefined;
  /** What is saved. */
  csv: () => string;
  marks?: readonly Mark[];
  onRange?: (range: StepRange | null) => void;
  /** Next to the name. */
  children?: ReactNode;
}

const NO_MARKS: readonly Mark[] = [];

export function MetricFigure({ ref, name, labels, curves, settings, isSeen, failed, csv, marks = NO_MARKS, onRange, children }: Props) {
  const { ref: drawn, of, isDrawn } = useDrawing<HTMLDivElement>();
  return (
    <figure ref={ref} style={{ margin: 0, minWidth: 0 }} aria-label={t`Curve of ${name} by step`}>
      <Group component="figcaption" justify="space-between" h={28} wrap="nowrap">
        <Text size="sm" fw={600} truncate dir="auto" title={name}>
          {name}
        </Text>
        <Group gap={4} wrap="nowrap">
          {children}
          <FigureMenu name={name} of={of} csv={csv} isDisabled={!isDrawn} />
        </Group>
      </Group>
      <ProblemAlert error={failed?.error ?? null} onRetry={() => void failed?.refetch()} />
      {failed === undefined && (
        <Suspense fallback={<CurveSkeleton />}>
          {curves.size > 0 ? (
            <CurveChart ref={drawn} labels={labels} curves={curves} marks={marks} {...settings} {...(onRange && { onRange })} />
          ) : (
            <CurveSkeleton animate={isSeen} />
          )}
        </Suspense>
      )}
    </figure>
  );
}
