// SPDX-License-Identifier: Apache-2.0
// Times and durations as people read them.
import { t } from "@lingui/core/macro";
import { useEffect, useState } from "react";

import { dateLocale } from "@/locales/locale";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** "42 s", "3 min 05 s", "1 h 05 min", "2 d 03 h"; "–" when unknown. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE_S) return seconds < 10 && seconds > 0 ? t`${tenths(seconds)} s` : t`${whole} s`;
  if (whole < HOUR_S) return t`${Math.floor(whole / MINUTE_S)} min ${padded(whole % MINUTE_S)} s`;
  if (whole < DAY_S) return t`${Math.floor(whole / HOUR_S)} h ${padded(Math.floor((whole % HOUR_S) / MINUTE_S))} min`;
  return t`${Math.floor(whole / DAY_S)} d ${padded(Math.floor((whole % DAY_S) / HOUR_S))} h`;
}

/** As duration, in milliseconds below a second: of what is shorter than a person's patience. */
export function shortDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds >= 10) return duration(seconds);
  const [value, unit] = seconds < 1 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${Number(value.toPrecision(value < 1 ? 1 : 3))} ${unit}`;
}

/** A duration on an axis: without what is smaller than the distance of its ticks. */
export function durationTick(seconds: number, step_s: number): string {
  if (seconds <= 0) return "0";
  if (step_s < MINUTE_S) return shortDuration(seconds);
  const isWhole = seconds < HOUR_S || (step_s % HOUR_S === 0 && (seconds < DAY_S || step_s % DAY_S === 0));
  return isWhole ? rough(seconds) : duration(seconds);
}

/** The local time of day, with the date unless it is today. */
export function clock(iso: string | null | undefined, now: Date = new Date()): string {
  if (!iso) return "–";
  const at = new Date(iso);
  const time = at.toLocaleTimeString(dateLocale(), { hour: "2-digit", minute: "2-digit" });
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.toLocaleDateString(dateLocale(), { day: "numeric", month: "short" })} ${time}`;
}

/** As clock, with the day of the week where the day is less than six days away: "Mon 14:00". */
export function weekdayClock(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  const isNear = Math.abs(at.getTime() - now.getTime()) < 6 * DAY_S * 1000;
  if (!isNear || at.toDateString() === now.toDateString()) return clock(iso, now);
  return `${at.toLocaleDateString(dateLocale(), { weekday: "short" })} ${clock(iso, at)}`;
}

/** As <input type="datetime-local"> reads it, in local time. */
export function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** clock(iso) where it reads otherwise than that of the earlier moment; else null: "22:02, by 22:02" says it twice. */
export function laterClock(iso: string | null | undefined, earlier: string | null | undefined): string | null {
  return iso && clock(iso) !== clock(earlier) ? clock(iso) : null;
}

/** "14:05–14:09", or "14:05" where both read the same or only the first is known. */
export function clockRange(from: string, until: string | null): string {
  const end = laterClock(until, from);
  return end === null ? clock(from) : `${clock(from)}–${end}`;
}

/** The local time of day on an axis: with seconds where the ticks are less than a minute apart. */
export function clockTick(at_ms: number, step_ms: number): string {
  const at = new Date(at_ms);
  if (step_ms >= MINUTE_S * 1000) return clock(at.toISOString());
  return at.toLocaleTimeString(dateLocale(), { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** By how much the server's clock and the browser's may differ: nothing so near is called the future. */
const CLOCK_SKEW_S = 2;

/** "just now", "5 min ago", "in 2 h"; a date beyond a month. */
export function ago(iso: string | null | undefined, now: Date | number): string {
  if (!iso) return "–";
  const seconds = (Number(now) - new Date(iso).getTime()) / 1000;
  const distance = Math.abs(seconds);
  if (seconds > -CLOCK_SKEW_S && seconds < 10) return t`just now`;
  if (distance > 30 * DAY_S) {
    return new Date(iso).toLocaleDateString(dateLocale(), { day: "numeric", month: "short", year: "numeric" });
  }
  const roughly = rough(distance);
  return seconds < 0 ? t`in ${roughly}` : t`${roughly} ago`;
}

/** Of a predicted time: "in 2 h"; "overdue by 3 min" once it has passed. */
export function until(iso: string, now: Date | number): string {
  const seconds = (new Date(iso).getTime() - Number(now)) / 1000;
  return seconds < 0 ? t`overdue by ${rough(-seconds)}` : t`in ${rough(seconds)}`;
}

/** The time now in milliseconds, renewed every `period_s`. */
export function useNow(period_s = 1): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), period_s * 1000);
    return () => clearInterval(timer);
  }, [period_s]);
  return now;
}

function rough(seconds: number): string {
  if (seconds < MINUTE_S) return t`${Math.round(seconds)} s`;
  if (seconds < HOUR_S) return t`${Math.floor(seconds / MINUTE_S)} min`;
  if (seconds < DAY_S) return t`${Math.floor(seconds / HOUR_S)} h`;
  return t`${Math.floor(seconds / DAY_S)} d`;
}

function tenths(seconds: number): string {
  return String(Math.round(seconds * 10) / 10);
}

function padded(value: number): string {
  return String(value).padStart(2, "0");
}
