// SPDX-License-Identifier: Apache-2.0
// One line of many, drawn thick above the others on a canvas of its own: the chart itself is not drawn again, which takes
// long where there are hundreds of lines.
import type uPlot from "uplot";

const WIDTH_PX = 3;
const HALO_PX = 7;

/** What a highlighted line is drawn with. */
interface Ink {
  line: string;
  /** Around it, of the page's colour. */
  halo: string;
}

/** Shows the line of this column of the data; null: none. */
type Highlight = (column: number | null, ink: Ink) => void;

export function lineHighlight(plot: uPlot): Highlight {
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%;pointer-events:none";
  let shown: number | null = null;
  return (column, ink) => {
    if (column === null && shown === null) return;
    shown = column;
    if (!canvas.isConnected) plot.over.append(canvas);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = plot.over.clientWidth * ratio; // clears it
    canvas.height = plot.over.clientHeight * ratio;
    const context = canvas.getContext("2d");
    if (column === null || context === null) return;
    context.scale(ratio, ratio);
    context.lineJoin = "round";
    const path = pathOf(plot, column);
    for (const [colour, width] of [[ink.halo, HALO_PX], [ink.line, WIDTH_PX]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke(path);
    }
  };
}

/** Over gaps, as the chart draws it. */
function pathOf(plot: uPlot, column: number): Path2D {
  const path = new Path2D();
  for (const [place, x] of plot.data[0].entries()) {
    const y = plot.data[column]?.[place];
    if (y != null) path.lineTo(plot.valToPos(x, "x"), plot.valToPos(y, "y"));
  }
  return path;
}
