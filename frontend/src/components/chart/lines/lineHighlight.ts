// SPDX-License-Identifier: Apache-2.0
// One line of many, drawn thick above the others on a canvas of its own: the chart itself is not drawn again, which takes
// long where there are hundreds of lines.
import type uPlot from "uplot";

import type { Line } from "@/lib/curves/smoothing";

import { pathOf } from "./linesInParts";

const WIDTH_PX = 3;
const HALO_PX = 7;

/** What a highlighted line is drawn with. */
interface Ink {
  line: string;
  /** Around it, of the page's colour. */
  halo: string;
}

/** Shows this line; null: none. */
type Highlight = (line: Line | null, ink: Ink) => void;

export function lineHighlight(plot: uPlot): Highlight {
  const canvas = document.createElement("canvas");
  canvas.style.cssText = "position:absolute;inset:0;width:100%;height:100%;pointer-events:none";
  let isShown = false;
  return (line, ink) => {
    if (line === null && !isShown) return;
    isShown = line !== null;
    if (!canvas.isConnected) plot.over.append(canvas);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = plot.over.clientWidth * ratio; // clears it
    canvas.height = plot.over.clientHeight * ratio;
    const context = canvas.getContext("2d");
    if (line === null || context === null) return;
    context.scale(ratio, ratio);
    context.lineJoin = "round";
    const path = pathOf(plot, line, false);
    for (const [colour, width] of [[ink.halo, HALO_PX], [ink.line, WIDTH_PX]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke(path);
    }
  };
}
