// SPDX-License-Identifier: Apache-2.0
// The best value so far of a study, as steps over trials or GPU-hours; each improvement names its trial.
import { plural, t } from "@lingui/core/macro";
import { SegmentedControl, Stack, Text } from "@mantine/core";
import { useSearchParams } from "react-router";

import type { Study, Trial } from "@/api/types";
import { type Abscissa, bestSoFar, type Improvement } from "@/features/studies/bestSoFar";
import { noResultText, shown } from "@/features/studies/values";

import classes from "./studies.module.css";

const WIDTH = 640;
const HEIGHT = 200;
const LEFT = 56;
const RIGHT = 20;
const BOTTOM = 26;
const TOP = 22;
const LEAST_WIDTH = 520;
/** Pixels between the names of two improvements. */
const LABEL_PX = 52;

export function BestCurve({ study, trials }: { study: Study; trials: readonly Trial[] }) {
  const [search, setSearch] = useSearchParams();
  const abscissa: Abscissa = search.get("best") === "gpu_hours" ? "gpu_hours" : "trials";
  const { improvements, end } = bestSoFar(study, trials, abscissa);
  const over = (value: string) =>
    setSearch((known) => {
      if (value === "trials") known.delete("best");
      else known.set("best", value);
      return known;
    }, { replace: true });
  const hasResults = trials.some(({ results }) => results.length > 0);
  if (!hasResults) return <Text size="sm" c="dimmed">{noResultText(study)}</Text>;
  return (
    <Stack gap="xs">
      <SegmentedControl
        size="xs"
        style={{ alignSelf: "flex-start" }}
        aria-label={t`Best so far over`}
        value={abscissa}
        onChange={over}
        data={[
          { value: "trials", label: t`Trials with a result` },
          { value: "gpu_hours", label: t`GPU-hours` },
        ]}
      />
      {improvements.length === 0 ? (
        <Text size="sm" c="dimmed">{t`The results were recorded by an earlier release, which did not keep the GPU-hours.`}</Text>
      ) : (
        <Steps study={study} improvements={improvements} end={end} abscissa={abscissa} />
      )}
    </Stack>
  );
}

interface StepsProps {
  study: Study;
  improvements: readonly Improvement[];
  end: number;
  abscissa: Abscissa;
}

function Steps({ study, improvements, end, abscissa }: StepsProps) {
  const values = improvements.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const last = Math.max(end, study.state === "running" && abscissa === "gpu_hours" ? study.gpu_hours : 0);
  const from = abscissa === "trials" ? Math.min(1, last) : 0;
  const x = (at: number) => LEFT + 8 + (last === from ? 0.5 : (at - from) / (last - from)) * (WIDTH - LEFT - RIGHT - 8);
  const y = (value: number) => TOP + (high === low ? 0.5 : (high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const path = improvements
    .map(({ at, value }, i) => (i === 0 ? `M${x(at)},${y(value)}` : `H${x(at)}V${y(value)}`))
    .concat(`H${x(last)}`)
    .join("");
  const best = improvements.at(-1);
  if (best === undefined) return null;
  const count = plural(improvements.length, { one: "# improvement", other: "# improvements" });
  const label = t`Best ${study.metric} so far: ${shown(best.value)}, of trial ${best.trial}, after ${count}.`;
  return (
    <>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={t`Best so far, chart`}>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className={classes.chart} style={{ minWidth: LEAST_WIDTH, maxWidth: WIDTH }} role="img" aria-label={label}>
          {[...new Set([high, low])].map((value) => (
            <text key={value} x={LEFT - 4} y={y(value) + 4} textAnchor="end">
              {shown(value)}
            </text>
          ))}
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} className={classes.axis} />
          {[...new Set([from, last])].map((at) => (
            <text key={at} x={x(at)} y={HEIGHT - 8} textAnchor="middle">
              {shown(at)}
            </text>
          ))}
          <g className={classes.trial} data-best>
            <path d={path} />
            {improvements.map((one) => (
              <circle key={`${one.trial}-${one.epochs}`} cx={x(one.at)} cy={y(one.value)} r={3}>
                <title>{improvementText(study, one)}</title>
              </circle>
            ))}
          </g>
          {named(improvements, x).map((one) => (
            <text key={`${one.trial}-${one.epochs}`} x={Math.min(x(one.at), WIDTH - RIGHT)} y={y(one.value) - 7} textAnchor={x(one.at) > WIDTH - 60 ? "end" : "middle"}>
              {t`Trial ${one.trial}`}
            </text>
          ))}
        </svg>
      </div>
      <Text size="sm" c="dimmed">
        {t`The newest improvement: ${improvementText(study, best)}. Of all results, at any rung.`}
      </Text>
    </>
  );
}

function improvementText({ unit }: Study, { trial, value, epochs }: Improvement): string {
  if (!epochs) return t`trial ${trial} with ${shown(value)}`;
  return unit === "steps"
    ? t`trial ${trial} with ${shown(value)}, after ${shown(epochs)} steps`
    : t`trial ${trial} with ${shown(value)}, after ${shown(epochs)} epochs`;
}

/** The newest improvement, and of those before it as many as there is room for. */
function named(improvements: readonly Improvement[], x: (at: number) => number): Improvement[] {
  const found: Improvement[] = [];
  for (const one of improvements.toReversed()) {
    const next = found.at(-1);
    if (next === undefined || x(next.at) - x(one.at) >= LABEL_PX) found.push(one);
  }
  return found;
}
