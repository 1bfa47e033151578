// SPDX-License-Identifier: Apache-2.0
// A loss curve beyond its last point: a power law of the step, fitted to what there is, with the spread of its residuals.
export interface Fit {
  /** The fitted value at a step. */
  at: (step: number) => number;
  /** Standard deviation of the residuals, in units of the value. */
  spread: number;
}

const EXPONENTS = [0.15, 0.25, 0.5, 0.75, 1];
const LEAST_POINTS = 8;
const SKIPPED_SHARE = 0.1; // the first steps fall by another law

/** value ≈ a + b · step^-c by least squares over a few exponents c; null where there are too few points. */
export function fitCurve(points: readonly { step: number; value: number | null }[]): Fit | null {
  const finite = points.filter((point): point is { step: number; value: number } => point.value !== null && Number.isFinite(point.value) && point.step > 0);
  const used = finite.slice(Math.floor(finite.length * SKIPPED_SHARE));
  if (used.length < LEAST_POINTS) return null;
  const fits = EXPONENTS.map((exponent) => linear(used, exponent));
  return fits.reduce((best, fit) => (fit.spread < best.spread ? fit : best));
}

function linear(points: readonly { step: number; value: number }[], exponent: number): Fit {
  const x = points.map(({ step }) => step ** -exponent);
  const meanX = mean(x);
  const meanY = mean(points.map(({ value }) => value));
  let covariance = 0;
  let variance = 0;
  points.forEach(({ value }, index) => {
    const dx = (x[index] ?? 0) - meanX;
    covariance += dx * (value - meanY);
    variance += dx * dx;
  });
  const slope = variance > 0 ? covariance / variance : 0;
  const at = (step: number) => meanY + slope * (step ** -exponent - meanX);
  const spread = Math.sqrt(mean(points.map(({ step, value }) => (value - at(step)) ** 2)));
  return { at, spread };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
