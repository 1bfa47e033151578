// SPDX-License-Identifier: Apache-2.0
// The spans of a job's life: they tile it, and what is open ends now.
import { expect, it } from "vitest";

import { attempt, jobDetail } from "@/testing/fixtures";

import { timelineOf } from "./timeline";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const ms = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second);

it("tiles the time from submission to now without gaps or overlaps", () => {
  const first = attempt({
    number: 1,
    created_at: at(10),
    started_at: at(12),
    training_at: at(15),
    stop_asked_at: at(40),
    ended_at: at(45),
  });
  const second = attempt({ number: 2, created_at: at(50), started_at: null, training_at: null });
  const job = jobDetail({ state: "starting", submitted_at: at(0), finished_at: null, attempts: [second, first] });
  const { rows } = timelineOf(job, ms(58));
  expect(rows.map(({ attempt: of }) => of?.number)).toEqual([1, 2]);
  expect(rows.flatMap(({ spans }) => spans).map(({ phase, from_ms, to_ms }) => [phase, from_ms, to_ms])).toEqual([
    ["waiting", ms(0), ms(10)],
    ["starting", ms(10), ms(15)],
    ["training", ms(15), ms(40)],
    ["stopping", ms(40), ms(45)],
    ["waiting", ms(45), ms(50)],
    ["starting", ms(50), ms(58)],
  ]);
});

it("shows a job that has had no attempt as waiting until now", () => {
  const job = jobDetail({ state: "queued", submitted_at: at(0), attempts: [], current_attempt: null });
  expect(timelineOf(job, ms(30)).rows).toEqual([
    { attempt: null, spans: [{ phase: "waiting", from_ms: ms(0), to_ms: ms(30) }] },
  ]);
});
