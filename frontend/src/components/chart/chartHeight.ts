// SPDX-License-Identifier: Apache-2.0
// The height of a chart, which is kept for it before its code and its points are there: nothing jumps.
export const CHART_HEIGHT = 220;
/** Of the names and values below it, which take two lines on a phone; as in CurveChart.module.css. */
export const LEGEND_HEIGHT = { base: 54, sm: 27 };
