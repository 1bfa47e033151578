// SPDX-License-Identifier: Apache-2.0
// Hundreds of lines of a chart, drawn some at a time: in between the page answers to who uses it.
import type uPlot from "uplot";

import type { Line } from "@/lib/curves/smoothing";

const AT_ONCE = 40; // lines of one frame: some milliseconds, also where the processor draws

/** Its points, and what it is drawn with. */
interface DrawnLine extends Line {
  colour: string;
  width: number;
}

export interface LinesInParts {
  /** Draws all lines, the first ones now; whenever the chart has drawn its axes. */
  draw: (plot: uPlot) => void;
  /** What is not drawn yet will not be. */
  stop: () => void;
}

/** For a chart whose own series draw nothing: each line by its own points, which are far fewer than the chart's positions. */
export function linesInParts(lines: readonly DrawnLine[]): LinesInParts {
  let frame = 0;
  const stop = () => cancelAnimationFrame(frame);
  function draw(plot: uPlot) {
    stop();
    let next = 0;
    const go = () => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.lineJoin = "round";
      for (const { colour, width, ...line } of lines.slice(next, next + AT_ONCE)) {
        ctx.strokeStyle = colour;
        ctx.lineWidth = width * (window.devicePixelRatio || 1);
        ctx.stroke(pathOf(plot, line, true));
      }
      next += AT_ONCE;
      ctx.restore();
      if (next < lines.length) frame = requestAnimationFrame(go);
    };
    go();
  }
  return { draw, stop };
}

/** Over gaps, as a chart draws it; in the canvas's pixels, or in the page's. */
export function pathOf(plot: uPlot, { x, y }: Line, inCanvas: boolean): Path2D {
  const path = new Path2D();
  for (const [index, at] of x.entries()) {
    const value = y[index];
    if (value != null) path.lineTo(plot.valToPos(at, "x", inCanvas), plot.valToPos(value, "y", inCanvas));
  }
  return path;
}
