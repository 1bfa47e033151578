// SPDX-License-Identifier: Apache-2.0
// Draws the finish fan: solid what was, hatched what is predicted, with the value under the pointer.
import { t } from "@lingui/core/macro";
import { type PointerEvent, useId, useMemo, useState } from "react";

import { number } from "@/lib/quantities";
import { timeTicks, valueTicks } from "@/lib/curves/ticks";
import { clock, clockTick } from "@/lib/time";

import type { Band, Fan, FanPoint } from "./model";
import classes from "./FanPicture.module.css";

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 10, 22, 22];
const TICK_PX = 110;
const LABEL_PX = 120; // of the words at the predicted finish

export function FanPicture({ fan, width, height }: { fan: Fan; width: number; height: number }) {
  const hatch = useId();
  const [pointed, setPointed] = useState<FanPoint | null>(null);
  const inner = Math.max(40, width - LEFT - RIGHT);
  const x = (ms: number) => LEFT + ((ms - fan.from_ms) / (fan.to_ms - fan.from_ms)) * inner;
  const y = (value: number) => TOP + (1 - (value - fan.low) / (fan.high - fan.low || 1)) * (height - TOP - BOTTOM);
  const path = useMemo(
    () => line(fan.past, (ms) => LEFT + ((ms - fan.from_ms) / (fan.to_ms - fan.from_ms)) * inner, (value) => TOP + (1 - (value - fan.low) / (fan.high - fan.low || 1)) * (height - TOP - BOTTOM)),
    [fan, inner, height],
  );
  const last = fan.past.at(-1);
  const bottom = height - BOTTOM;
  const times = timeTicks(fan.from_ms, fan.to_ms, Math.max(2, Math.floor(inner / TICK_PX)));

  function point(event: PointerEvent<SVGSVGElement>) {
    const at_ms = fan.from_ms + ((event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / inner) * (fan.to_ms - fan.from_ms);
    setPointed(nearest(fan.past, at_ms));
  }

  return (
    <svg width={width} height={height} className={classes.picture} aria-hidden onPointerMove={point} onPointerLeave={() => setPointed(null)}>
      <defs>
        <pattern id={hatch} width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1={0} y1={0} x2={0} y2={6} className={classes.hatch} />
        </pattern>
      </defs>
      {valueTicks(fan.low, fan.high, 4).map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} className={classes.grid} />
          <text x={LEFT - 6} y={y(value) + 4} textAnchor="end" className={classes.tick}>
            {number(value)}
          </text>
        </g>
      ))}
      {times.map((ms) => (
        <text key={ms} x={x(ms)} y={height - 6} textAnchor="middle" className={classes.tick}>
          {clockTick(ms, (times[1] ?? fan.to_ms) - (times[0] ?? fan.from_ms))}
        </text>
      ))}
      {last !== undefined && fan.p50_ms !== null && (
        <rect x={x(last.at_ms)} y={TOP} width={Math.max(0, x(fan.p90_ms ?? fan.p50_ms) - x(last.at_ms))} height={bottom - TOP} fill={`url(#${hatch})`} />
      )}
      {fan.future.length > 0 && (
        <>
          <path d={area(fan.future, x, y)} className={classes.band} />
          <path d={line(fan.future, x, y)} className={classes.future} />
        </>
      )}
      <path d={path} className={classes.past} />
      {fan.first_ms !== null && fan.first_ms >= fan.from_ms && (
        <path d={`M${x(fan.first_ms) - 5} ${TOP - 6}h10l-5 6z`} className={classes.first}>
          <title>{t`First prediction`}</title>
        </path>
      )}
      {fan.p90_ms !== null && <Mark at={x(fan.p90_ms)} bottom={bottom} isFaint label={x(fan.p90_ms) - x(fan.p50_ms ?? 0) > LABEL_PX ? t`P90 ${clockOf(fan.p90_ms)}` : ""} />}
      {fan.p50_ms !== null && <Mark at={x(fan.p50_ms)} bottom={bottom} label={t`P50 ${clockOf(fan.p50_ms)}`} />}
      {fan.finished_ms !== null && fan.finished_ms <= fan.to_ms && <Mark at={x(fan.finished_ms)} bottom={bottom} label={t`ended ${clockOf(fan.finished_ms)}`} />}
      {pointed !== null && (
        <g className={classes.pointed}>
          <line x1={x(pointed.at_ms)} x2={x(pointed.at_ms)} y1={TOP} y2={bottom} />
          <circle cx={x(pointed.at_ms)} cy={y(pointed.value)} r={4} />
          <text x={x(pointed.at_ms) + (x(pointed.at_ms) > width / 2 ? -8 : 8)} y={TOP + 12} textAnchor={x(pointed.at_ms) > width / 2 ? "end" : "start"}>
            {`${number(pointed.value)} · ${clockOf(pointed.at_ms)}`}
          </text>
        </g>
      )}
    </svg>
  );
}

function Mark({ at, bottom, label, isFaint = false }: { at: number; bottom: number; label: string; isFaint?: boolean }) {
  return (
    <g className={classes.mark} data-faint={isFaint || undefined}>
      <line x1={at} x2={at} y1={TOP - 4} y2={bottom} />
      <text x={at + (isFaint ? 0 : -2)} y={TOP - 8} textAnchor="end">
        {label}
      </text>
    </g>
  );
}

type Scale = (value: number) => number;

function line(points: readonly FanPoint[], x: Scale, y: Scale): string {
  return points.map(({ at_ms, value }, index) => `${index === 0 ? "M" : "L"}${x(at_ms).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

function area(bands: readonly Band[], x: Scale, y: Scale): string {
  const upper = bands.map(({ at_ms, high }) => `${x(at_ms).toFixed(1)} ${y(high).toFixed(1)}`);
  const lower = bands.map(({ at_ms, low }) => `${x(at_ms).toFixed(1)} ${y(low).toFixed(1)}`).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}

function nearest(points: readonly FanPoint[], at_ms: number): FanPoint | null {
  return points.reduce<FanPoint | null>((best, point) => (best === null || Math.abs(point.at_ms - at_ms) < Math.abs(best.at_ms - at_ms) ? point : best), null);
}

function clockOf(ms: number): string {
  return clock(new Date(ms).toISOString());
}
