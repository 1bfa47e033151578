// SPDX-License-Identifier: Apache-2.0
// The place of a chart of many lines until it is drawn, as high as it will be with the words below it: nothing jumps.
import { Box, Skeleton } from "@mantine/core";

import { noteHeight } from "./noteHeight";

interface Props {
  height: number;
  isSmall?: boolean;
  animate?: boolean;
}

export function LinesSkeleton({ height, isSmall = false, animate = true }: Props) {
  return (
    <>
      <Skeleton h={height} animate={animate} />
      <Box h={noteHeight(isSmall)} />
    </>
  );
}
