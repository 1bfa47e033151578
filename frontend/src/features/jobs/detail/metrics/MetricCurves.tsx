// SPDX-License-Identifier: Apache-2.0
// What the job reports while it trains, as curves by step, with a mark where an attempt resumed.
import { Text } from "@mantine/core";
import { Suspense, useMemo } from "react";

import type { Attempt } from "@/api/types";
import type { Mark } from "@/components/chart/Curves";
import { Loading } from "@/components/feedback/Loading";
import { lazyComponent } from "@/lib/chunk";
import type { Curves as CurvesData } from "@/lib/series";

/** The chart library is large, and nothing else on the page waits for it. */
const Curves = lazyComponent(async () => (await import("@/components/chart/Curves")).Curves);

interface Props {
  curves: CurvesData;
  attempts: readonly Attempt[];
  isOver: boolean;
}

export function MetricCurves({ curves, attempts, isOver }: Props) {
  const marks = useMemo(() => marksOf(attempts), [attempts]);
  if (curves.size === 0) {
    return (
      <Text size="sm" c="dimmed">
        {isOver ? "It reported no metrics." : "Metrics appear here as soon as it trains."}
      </Text>
    );
  }
  return (
    <Suspense fallback={<Loading label="Loading the charts" />}>
      <Curves curves={curves} marks={marks} />
    </Suspense>
  );
}

/** Where a later attempt began to train. */
function marksOf(attempts: readonly Attempt[]): Mark[] {
  return attempts
    .filter(({ number, training_at }) => number > 1 && training_at !== null)
    .map(({ number, first_step }) => ({ step: first_step, label: `#${number}` }));
}
