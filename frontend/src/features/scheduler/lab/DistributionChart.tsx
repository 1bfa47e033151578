// SPDX-License-Identifier: Apache-2.0
// Which share of the jobs was done within a time, for every policy and for what really happened. The axis of time is logarithmic.
import { t } from "@lingui/core/macro";
import { Group, Text, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useRef } from "react";

import type { ReplayResult } from "@/api/types";
import { colourOf } from "@/components/chart/colours";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { csvOf } from "@/lib/download";
import { duration } from "@/lib/time";

const LEAST_WIDTH = 300;
const USUAL_WIDTH = 760; // until it is measured
const MOST_WIDTH = 1000;
const LEAST_TICK_PX = 56; // of its words
const HEIGHT = 300;
const LEFT = 44;
const TOP = 12;
const BOTTOM = HEIGHT - 28;
const LEAST_S = 1;
const TICKS_S = [1, 10, 60, 600, 3600, 21_600, 86_400, 604_800, 2_592_000];

interface Curve {
  label: string;
  points: readonly (readonly number[])[];
  colour: string;
  isReal: boolean;
}

export function DistributionChart({ result }: { result: ReplayResult }) {
  const scheme = useComputedColorScheme("light");
  const drawing = useRef<HTMLDivElement>(null);
  const { ref: frame, width: measured } = useElementSize<HTMLDivElement>();
  const width = measured > 0 ? Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, measured)) : USUAL_WIDTH;
  const right = width - 12;
  const ink = scheme === "light" ? "#495057" : "#c9c9c9";
  const grid = scheme === "light" ? "#e9ecef" : "#3b3b3b";
  const curves = curvesOf(result, scheme, ink);
  const times = curves.flatMap(({ points }) => points.map(([at = 0]) => Math.max(LEAST_S, at)));
  const low = Math.log(times.reduce((least, at) => Math.min(least, at), Infinity));
  const high = Math.max(low + 0.1, Math.log(times.reduce((most, at) => Math.max(most, at), LEAST_S)));
  const x = (at: number) => LEFT + ((Math.log(Math.max(LEAST_S, at)) - low) / (high - low)) * (right - LEFT);
  const y = (share: number) => BOTTOM - share * (BOTTOM - TOP);
  if (times.length === 0) return <Text size="sm">{t`No policy could be simulated.`}</Text>;
  return (
    <div ref={drawing}>
      <div ref={frame} style={{ overflowX: "auto" }} tabIndex={0} role="region" aria-label={t`Chart of completion times`}>
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} style={{ display: "block" }} role="img" aria-label={t`Share of jobs done within a time, by policy`}>
          <g fill={ink} fontSize={11}>
            {[0, 0.25, 0.5, 0.75, 1].map((share) => (
              <g key={share}>
                <line x1={LEFT} x2={right} y1={y(share)} y2={y(share)} stroke={grid} />
                <text x={LEFT - 6} y={y(share) + 4} textAnchor="end">
                  {Math.round(share * 100)} %
                </text>
              </g>
            ))}
            {apart(TICKS_S.filter((at) => Math.log(at) >= low && Math.log(at) <= high), x).map((at) => (
              <g key={at}>
                <line x1={x(at)} x2={x(at)} y1={TOP} y2={BOTTOM} stroke={grid} />
                <text x={x(at)} y={BOTTOM + 16} textAnchor="middle">
                  {tickText(at)}
                </text>
              </g>
            ))}
          </g>
          {curves.map(({ label, points, colour, isReal }) => (
            <path key={label} d={stepsOf(points, x, y, right)} fill="none" stroke={colour} strokeWidth={2} strokeDasharray={isReal ? "5 4" : undefined}>
              <title>{label}</title>
            </path>
          ))}
        </svg>
      </div>
      <Group gap="md" mt={4}>
        {curves.map(({ label, colour, isReal }) => (
          <Group key={label} gap={6} wrap="nowrap">
            <svg width={22} height={8} aria-hidden="true">
              <line x1={0} x2={22} y1={4} y2={4} stroke={colour} strokeWidth={2} strokeDasharray={isReal ? "5 4" : undefined} />
            </svg>
            <Text size="xs">{label}</Text>
          </Group>
        ))}
        <FigureMenu name={t`Completion times`} of={drawing} csv={() => csvOfCurves(curves)} />
      </Group>
    </div>
  );
}

function curvesOf(result: ReplayResult, scheme: "light" | "dark", ink: string): Curve[] {
  const simulated = result.policies.flatMap(({ label, figures }, index) =>
    figures === null ? [] : [{ label, points: figures.curve, colour: colourOf(index, scheme), isReal: false }],
  );
  const real = result.real === null ? [] : [{ label: t`what really happened`, points: result.real.curve, colour: ink, isReal: true }];
  return [...simulated, ...real];
}

function csvOfCurves(curves: readonly Curve[]): string {
  return csvOf([["policy", "seconds", "share_of_jobs"], ...curves.flatMap(({ label, points }) => points.map(([at, share]) => [label, at, share]))]);
}

/** Those whose words do not touch. */
function apart(times: readonly number[], x: (at: number) => number): number[] {
  const found: number[] = [];
  for (const at of times) {
    const last = found.at(-1);
    if (last === undefined || x(at) - x(last) >= LEAST_TICK_PX) found.push(at);
  }
  return found;
}

function stepsOf(points: Curve["points"], x: (at: number) => number, y: (share: number) => number, right: number): string {
  let before = 0;
  let path = "";
  for (const [at = 0, share = 0] of points) {
    path += `${path === "" ? "M" : "L"}${x(at).toFixed(1)} ${y(before).toFixed(1)}V${y(share).toFixed(1)}`;
    before = share;
  }
  return `${path}H${right}`;
}

/** "10 min", "6 h": whole units. */
function tickText(at: number): string {
  return duration(at).replace(/ 00? ?(s|min|h)$/, "").replace(/ 0\d (s|min|h)$/, "");
}
