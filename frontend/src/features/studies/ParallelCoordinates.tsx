// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates: an axis for each hyperparameter and one for the metric, a line for each trial.
import { plural, t } from "@lingui/core/macro";
import { Text } from "@mantine/core";

import type { Study, Trial } from "@/api/types";
import { axesOf } from "@/features/studies/values";

import classes from "./studies.module.css";

const STEP = 130;
const HEIGHT = 240;
const TOP = 34;
const BOTTOM = 22;

export function ParallelCoordinates({ study, trials }: { study: Study; trials: readonly Trial[] }) {
  const measured = trials.filter(({ results }) => results.length > 0);
  const axes = axesOf(study, measured);
  if (measured.length === 0) return <Text size="sm" c="dimmed">{t`No trial has a result yet.`}</Text>;
  const width = STEP * axes.length;
  const x = (i: number) => STEP / 2 + i * STEP;
  const y = (at: number) => TOP + (1 - at) * (HEIGHT - TOP - BOTTOM);
  const sign = study.direction === "maximize" ? 1 : -1;
  const worstFirst = [...measured].sort((a, b) => sign * ((a.results[0]?.value ?? 0) - (b.results[0]?.value ?? 0)));
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={t`Parallel coordinates, chart`}>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        style={{ minWidth: Math.min(width, STEP * 3), width: "100%" }}
        className={classes.chart}
        role="img"
        aria-label={t`${plural(measured.length, { one: "# trial", other: "# trials" })} over ${axes.map(({ name }) => name).join(", ")}.`}
      >
        {worstFirst.map((trial, i) => (
          <polyline
            key={trial.id}
            points={axes
              .map(({ at }, axis) => [axis, at(trial)] as const)
              .filter(([, at]) => at !== undefined)
              .map(([axis, at]) => `${x(axis)},${y(at ?? 0)}`)
              .join(" ")}
            className={classes.path}
            strokeOpacity={0.15 + (0.75 * (i + 1)) / worstFirst.length}
            data-best={trial.id === study.best?.id || undefined}
          >
            <title>{t`Trial ${trial.number}`}</title>
          </polyline>
        ))}
        {axes.map(({ name, ends }, i) => (
          <g key={name}>
            <line x1={x(i)} x2={x(i)} y1={TOP} y2={HEIGHT - BOTTOM} className={classes.axis} />
            <text x={x(i)} y={12} textAnchor="middle">{name.length > 20 ? `${name.slice(0, 19)}…` : name}</text>
            <text x={x(i)} y={TOP - 6} textAnchor="middle">{ends[1]}</text>
            <text x={x(i)} y={HEIGHT - 8} textAnchor="middle">{ends[0]}</text>
          </g>
        ))}
      </svg>
    </div>
  );
}
