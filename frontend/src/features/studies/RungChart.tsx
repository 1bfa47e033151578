// SPDX-License-Identifier: Apache-2.0
// The rungs of a study: what every trial had reached when it came to each of them, joined by a line for each trial.
import { plural, t } from "@lingui/core/macro";
import { Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";

import type { Study, Trial } from "@/api/types";
import { noResultText, shown } from "@/features/studies/values";

import classes from "./studies.module.css";

const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 26;
const TOP = 12;
/** Of its numbers to be read: a narrower screen scrolls it, a wider one does not stretch it. */
const LEAST_WIDTH = 280;
const USUAL_WIDTH = 640; // until it is measured
const MOST_WIDTH = 860;
const LEAST_RUNG_PX = 56; // of its words below
/** More trials than these are drawn fainter, so that it shows where most of them are, and without their points. */
const WHOLE_TRIALS = 40;

/** In words, and in few letters below the chart; of a script that reports neither epochs nor steps, a rung is its end. */
function lengthText({ unit }: Study, length: number, hasLengths: boolean): string {
  if (!hasLengths) return t`the end`;
  return unit === "steps" ? plural(length, { one: "# step", other: "# steps" }) : plural(length, { one: "# epoch", other: "# epochs" });
}

function shortText({ unit }: Study, length: number, n: number, hasLengths: boolean): string {
  if (!hasLengths) return t`end · ${n}`;
  return unit === "steps" ? t`${length} st · ${n}` : t`${length} ep · ${n}`;
}

export function RungChart({ study, trials }: { study: Study; trials: readonly Trial[] }) {
  const { ref: frame, width: measured } = useElementSize<HTMLDivElement>();
  const least = Math.max(LEAST_WIDTH, LEFT + study.rungs.length * LEAST_RUNG_PX);
  const width = Math.max(least, measured > 0 ? Math.min(measured, MOST_WIDTH) : USUAL_WIDTH);
  const hasLengths = trials.some(({ results }) => results.some(({ epochs }) => epochs > 0));
  const values = trials.flatMap(({ results }) => results.map(({ value }) => value));
  if (values.length === 0) return <Text size="sm" c="dimmed">{noResultText(study)}</Text>;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (rung: number) =>
    study.rungs.length === 1 ? (LEFT + width) / 2 : LEFT + 16 + (rung / (study.rungs.length - 1)) * (width - LEFT - 40);
  const y = (value: number) => TOP + (high === low ? 0.5 : (high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const isBest = ({ id }: Trial) => id === study.best?.id;
  const inOrder = [...trials.filter((trial) => !isBest(trial)), ...trials.filter(isBest)]; // the best one on top
  const opacity = Math.max(0.08, Math.min(1, WHOLE_TRIALS / trials.length));
  const reached = study.rungs.map((_, rung) => trials.filter(({ results }) => results.length > rung).length);
  const label = t`${study.metric} at each rung: ${study.rungs
    .map((length, rung) => `${plural(reached[rung] ?? 0, { one: "# trial", other: "# trials" })} at ${lengthText(study, length, hasLengths)}`)
    .join(", ")}.`;
  return (
    <div ref={frame} className={classes.scroll} tabIndex={0} role="region" aria-label={t`Rungs, chart`}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} className={classes.chart} role="img" aria-label={label}>
        {[high, low].map((value, i) => (
          <text key={i} x={LEFT - 4} y={y(value) + 4} textAnchor="end">
            {shown(value)}
          </text>
        ))}
        {study.rungs.map((epochs, rung) => (
          <g key={epochs}>
            <line x1={x(rung)} x2={x(rung)} y1={TOP} y2={HEIGHT - BOTTOM} className={classes.axis} />
            <text x={x(rung)} y={HEIGHT - 8} textAnchor="middle">
              {shortText(study, epochs, reached[rung] ?? 0, hasLengths)}
            </text>
          </g>
        ))}
        {inOrder.map((trial) => (
          <g key={trial.id} data-best={isBest(trial) || undefined} className={classes.trial} opacity={isBest(trial) ? 1 : opacity}>
            <title>{t`Trial ${trial.number}`}</title>
            <polyline points={trial.results.map(({ value }, rung) => `${x(rung)},${y(value)}`).join(" ")} />
            {(trials.length <= WHOLE_TRIALS || isBest(trial)) &&
              trial.results.map(({ value }, rung) => <circle key={rung} cx={x(rung)} cy={y(value)} r={3} />)}
          </g>
        ))}
      </svg>
    </div>
  );
}
