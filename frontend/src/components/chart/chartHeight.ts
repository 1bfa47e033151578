// SPDX-License-Identifier: Apache-2.0
// The height of a chart, which is kept for it before its code and its points are there: nothing jumps.
export const CHART_HEIGHT = 220;
