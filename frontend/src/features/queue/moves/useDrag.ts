// SPDX-License-Identifier: Apache-2.0
// Which job of the queue is dragged, and between which rows it would be dropped.
import { type DragEvent, useState } from "react";

import type { QueuedJob } from "@/api/types";

import { type Move, moveTo } from "./move";

/** What a row needs to be dragged over. */
export function useDrag(jobs: readonly QueuedJob[], onMove: (move: Move) => void) {
  const [dragged, setDragged] = useState<string | null>(null);
  const [gap, setGap] = useState<number | null>(null);
  const move = dragged === null || gap === null ? null : moveTo(jobs, dragged, gap);

  function drag(id: string | null) {
    setDragged(id);
    setGap(null);
  }

  const rowProps = (job: QueuedJob, index: number) => ({
    "data-dragged": dragged === job.id || undefined,
    "data-drop": move?.neighbour.id === job.id ? move.side : undefined,
    onDragOver: (event: DragEvent<HTMLElement>) => {
      if (dragged === null) return;
      event.preventDefault(); // it may be dropped here
      const { top, height } = event.currentTarget.getBoundingClientRect();
      setGap(event.clientY > top + height / 2 ? index + 1 : index);
    },
    onDrop: (event: DragEvent<HTMLElement>) => {
      if (dragged === null) return;
      event.preventDefault();
      drag(null);
      if (move !== null) onMove(move);
    },
  });
  return { drag, rowProps };
}
