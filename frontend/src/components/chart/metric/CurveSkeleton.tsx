// SPDX-License-Identifier: Apache-2.0
// The place of a chart of metrics until it is drawn, as high as it will be with its legend: nothing jumps.
import { Box, Skeleton } from "@mantine/core";

import { CHART_HEIGHT, LEGEND_HEIGHT } from "@/components/chart/chartHeight";

export function CurveSkeleton({ animate = true }: { animate?: boolean }) {
  return (
    <>
      <Skeleton h={CHART_HEIGHT} animate={animate} />
      <Box h={LEGEND_HEIGHT} />
    </>
  );
}
