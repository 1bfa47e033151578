// SPDX-License-Identifier: Apache-2.0
// A part of a page that is made when it is about to come into view, and stays.
import { Box } from "@mantine/core";
import type { ReactNode } from "react";

import { useSeenWidth } from "@/components/chart/useSeenWidth";

interface Props {
  /** About what it will have, so that the page is as long as it will be. */
  height: number;
  children: ReactNode;
}

export function WhenSeen({ height, children }: Props) {
  const { ref, width } = useSeenWidth<HTMLDivElement>();
  return width === null ? <Box ref={ref} h={height} /> : children;
}
