// SPDX-License-Identifier: Apache-2.0
// Hundreds of lines of a chart, drawn some at a time: in between the page answers to who uses it.
import type uPlot from "uplot";

const AT_ONCE = 40; // lines of one frame: some milliseconds, also where the processor draws

/** What a line is drawn with. */
interface Ink {
  colour: string;
  width: number;
}

export interface LinesInParts {
  /** Draws all lines, the first ones now; whenever the chart has drawn its axes. */
  draw: (plot: uPlot) => void;
  /** What is not drawn yet will not be. */
  stop: () => void;
}

/** For a chart whose own series draw nothing. inks: of the columns of its data behind the positions. */
export function linesInParts(inks: readonly Ink[]): LinesInParts {
  let frame = 0;
  const stop = () => cancelAnimationFrame(frame);
  function draw(plot: uPlot) {
    stop();
    const places = Array.from(plot.data[0], (x) => plot.valToPos(x, "x", true));
    let next = 0;
    const go = () => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.lineJoin = "round";
      for (const { colour, width } of inks.slice(next, next + AT_ONCE)) {
        next += 1;
        ctx.strokeStyle = colour;
        ctx.lineWidth = width * (window.devicePixelRatio || 1);
        ctx.stroke(pathOf(plot, next, places));
      }
      ctx.restore();
      if (next < inks.length) frame = requestAnimationFrame(go);
    };
    go();
  }
  return { draw, stop };
}

/** Over gaps, in the canvas's pixels. */
function pathOf(plot: uPlot, column: number, places: readonly number[]): Path2D {
  const path = new Path2D();
  const values = plot.data[column] ?? [];
  for (const [index, place] of places.entries()) {
    const value = values[index];
    if (value != null) path.lineTo(place, plot.valToPos(value, "y", true));
  }
  return path;
}
