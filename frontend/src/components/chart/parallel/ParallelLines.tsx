// SPDX-License-Identifier: Apache-2.0
// The lines of parallel coordinates, the emphasised ones on top; of hundreds some more in each frame.
import { memo, useMemo } from "react";

import { useGradually } from "@/components/chart/useGradually";

import type { ParallelLine } from "./ranges";

interface Props {
  lines: readonly ParallelLine[];
  /** Ids of those that no range leaves out. */
  kept: ReadonlySet<string>;
  /** Where a line runs; the same function as long as the axes are the same. */
  pathOf: (line: ParallelLine) => string;
}

const MOST_OPAQUE = 200;
const MOST_THICK = 100;

export function ParallelLines({ lines, ...props }: Props) {
  const inOrder = useMemo(
    () => [...lines.filter(({ isEmphasised }) => !isEmphasised), ...lines.filter(({ isEmphasised }) => isEmphasised)],
    [lines],
  );
  return useGradually(inOrder).map((group, index) => <LineGroup key={index} group={group} n={lines.length} {...props} />);
}

interface GroupProps extends Omit<Props, "lines"> {
  group: readonly ParallelLine[];
  /** Of all lines. */
  n: number;
}

const LineGroup = memo(function LineGroup({ group, n, kept, pathOf }: GroupProps) {
  const paths = useMemo(() => group.map(pathOf), [group, pathOf]);
  const usualOpacity = n > MOST_OPAQUE ? 0.5 : 0.85;
  // strokeOpacity: with opacity the browser keeps a layer for each line
  return group.map((line, index) => (
    <path
      key={line.id}
      d={paths[index]}
      fill="none"
      stroke={line.colour}
      strokeWidth={line.isEmphasised ? 3.5 : n > MOST_THICK ? 1 : 1.6}
      strokeOpacity={kept.has(line.id) ? (line.isEmphasised ? 1 : (line.opacity ?? usualOpacity)) : 0.06}
    >
      <title>{line.label}</title>
    </path>
  ));
});
