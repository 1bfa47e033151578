// SPDX-License-Identifier: Apache-2.0
// Dragging across a chart asks for the part of its x axis that was dragged over, a double click for the whole: what is shown is the
// parent's, so that the address can keep it and other charts of the page can follow.
import type uPlot from "uplot";

/** The ends of a part of an x axis, in its own unit. */
export interface AxisZoom {
  low: number;
  high: number;
}

const LEAST_DRAG_PX = 4; // less is a click

/** cursor: to merge into the chart's own; setSelect: one of its hooks. */
export function dragZoom(ask: (zoom: AxisZoom | null) => void): { cursor: uPlot.Cursor; setSelect: (drawn: uPlot) => void } {
  return {
    cursor: {
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          ask(null);
          return null;
        },
      },
    },
    setSelect: (drawn) => {
      const { left, width } = drawn.select;
      if (width < LEAST_DRAG_PX) return;
      const [low, high] = [drawn.posToVal(left, "x"), drawn.posToVal(left + width, "x")];
      drawn.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      ask({ low, high });
    },
  };
}
