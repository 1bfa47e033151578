// SPDX-License-Identifier: Apache-2.0
// What the server holds of one job, for the tests of its page.
import { screen, within } from "@testing-library/react";
import { expect } from "vitest";

import type { Event, JobDetail, LogLine, LogOverview, MetricName, Point } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { job } from "@/testing/fixtures";
import { answers, page, server } from "@/testing/server";

export const ID = job().id;
export const ADDRESS = `/jobs/${ID}`;
export const STREAM = `/api/v1/jobs/${ID}/stream`;

export function point(step: number, value: number, attempt_number = 1): Point {
  return { step, epoch: step / 100, value, at: "2026-03-02T09:00:00Z", attempt_number };
}

export function line(seq: number, text: string, index = 0): LogLine {
  return { seq, at: null, attempt_number: 1, role: "worker", index, number: seq, text, n_dropped: 0, is_error: false };
}

export function logOverview(known: Partial<LogOverview> = {}): LogOverview {
  return { first_seq: null, last_seq: null, errors: [], found: null, n_errors: 0, n_found: null, ...known };
}

export function event(id: number, kind: string): Event {
  return { id, kind, organisation: null, subject_kind: "job", subject_id: ID, actor: null, at: "2026-03-02T09:00:00Z", facts: {} };
}

/** The entry of train/loss in the list of names. */
function nameOf(points: Point[]): MetricName {
  const last = points.at(-1) ?? point(0, 0);
  const { step: last_step, value: last_value, attempt_number } = last;
  return { key: "train/loss", n_points: points.length, last_step, last_value, attempt_number };
}

interface Stored {
  points?: Point[];
  lines?: LogLine[];
  events?: Event[];
}

export function stored(detail: JobDetail, { points = [], lines = [], events = [] }: Stored = {}) {
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/metrics/names", { names: points.length === 0 ? [] : [nameOf(points)], next: null }),
    answers("/api/v1/jobs/{id}/metrics", { series: [{ key: "train/loss", points, is_thinned: false }], cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs", { lines, is_end: true, n_found: null, cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs/overview", logOverview()),
    answers("/api/v1/jobs/{id}/events", page(events)),
  );
}

/** The stream, once the page listens to it. */
export async function stream(): Promise<FakeEventSource> {
  await expect.poll(() => FakeEventSource.instances.some(({ url }) => url.startsWith(STREAM))).toBe(true);
  return FakeEventSource.of(STREAM);
}

/** The cells of a metric's row; none until the charts are there. */
export function latest(key: string): (string | null)[] {
  const row = screen.queryByRole("row", { name: new RegExp(key) });
  return row === null ? [] : within(row).getAllByRole("cell").map((cell) => cell.textContent);
}
