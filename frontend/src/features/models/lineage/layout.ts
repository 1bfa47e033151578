// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a lineage are drawn: a column for each step from what was there first, rows in the order of the answer.
import type { Lineage } from "@/api/types";

export interface Place {
  column: number;
  row: number;
}

export interface Layout {
  places: ReadonlyMap<string, Place>;
  nColumns: number;
  nRows: number;
}

/** A node is one column after the last of those that lead to it. A cycle, which there cannot be, would end by itself. */
export function layoutOf({ nodes, edges }: Pick<Lineage, "nodes" | "edges">): Layout {
  const columns = new Map(nodes.map(({ id }) => [id, 0]));
  for (let pass = 0; pass < nodes.length; pass++) {
    let isMoved = false;
    for (const { source, target } of edges) {
      const least = (columns.get(source) ?? 0) + 1;
      if ((columns.get(target) ?? 0) < least && least < nodes.length) {
        columns.set(target, least);
        isMoved = true;
      }
    }
    if (!isMoved) break;
  }
  const heights = new Map<number, number>();
  const places = new Map<string, Place>();
  for (const { id } of nodes) {
    const column = columns.get(id) ?? 0;
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    places.set(id, { column, row });
  }
  return { places, nColumns: Math.max(0, ...heights.keys()) + 1, nRows: Math.max(0, ...heights.values()) };
}
