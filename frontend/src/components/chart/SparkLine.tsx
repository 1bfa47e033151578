// SPDX-License-Identifier: Apache-2.0
// A small curve without axes, for rows of lists.
interface Props {
  values: readonly number[];
  label: string;
}

const WIDTH = 96;
const HEIGHT = 24;

export function SparkLine({ values, label }: Props) {
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return null;
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const y = (value: number) => HEIGHT - 2 - ((value - low) / (high - low || 1)) * (HEIGHT - 4);
  const points = finite.map((value, index) => `${((index / (finite.length - 1)) * WIDTH).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={label} style={{ color: "var(--mantine-primary-color-light-color)", flex: "none" }}>
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth={1.5} />
    </svg>
  );
}
