// SPDX-License-Identifier: Apache-2.0
// Comparing jobs: which curves are asked for, what differs, and that the address says all of it.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Job, Run, RunDetail } from "@/api/types";
import { keptBy } from "@/components/ParallelCoordinates";
import { AT, VISION, job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

import { csvOfLines } from "./CurvesSection";

const JOBS = [
  job({ id: "a", name: "slow", hyperparameters: { lr: 0.001, momentum: 0.9 }, result_metrics: { "eval/loss": 0.7 }, state: "succeeded" }),
  job({ id: "b", name: "fast", hyperparameters: { lr: 0.1, momentum: 0.9 }, result_metrics: { "eval/loss": 0.3 }, state: "succeeded" }),
];

const RUN = { id: "00000000-0000-7000-8000-00000000aa01" };

interface Asked {
  jobs: string[];
  metric: string;
  axis: string;
  max_points: number;
}

function compared(all: Job[] = JOBS): Asked[] {
  const asked: Asked[] = [];
  server.use(
    answers("/api/v1/runs", page<Run>([])),
    http.get("/api/v1/jobs", ({ request }) => {
      const ids = new URL(request.url).searchParams.get("id")?.split(",") ?? [];
      return HttpResponse.json(page(all.filter(({ id }) => ids.includes(id))));
    }),
    http.post("/api/v1/jobs/compare/metrics", () =>
      HttpResponse.json({ metrics: [{ key: "eval/loss", n_jobs: all.length }, { key: "train/loss", n_jobs: 1 }] }),
    ),
    http.post("/api/v1/jobs/compare/curves", async ({ request }) => {
      const body = (await request.json()) as Asked;
      asked.push(body);
      return HttpResponse.json({ curves: body.jobs.map((id) => ({ job: id, x: [0, 1], y: [1, 0.5] })) });
    }),
  );
  return asked;
}

it("shows what differs only, or all, and remembers that in the address", async () => {
  compared();
  const { user, router } = renderPage("/compare?jobs=b,a");
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  const heads = () => table.getAllByRole("columnheader").map(({ textContent }) => textContent);
  expect(heads()).toEqual(["Job", "State", "lr", "eval/loss"]);
  expect(table.getAllByRole("rowheader").map(({ textContent }) => textContent)).toEqual(["fast", "slow"]);
  await user.click(screen.getByRole("switch", { name: "Only what differs" }));
  expect(heads()).toContain("momentum");
  expect(router.state.location.search).toBe("?jobs=b%2Ca&same=1");
});

it("asks for the metric that most jobs have, and for another over another axis when these are chosen", async () => {
  const asked = compared();
  const { user, router } = renderPage("/compare?jobs=a,b");
  await expect.poll(() => asked.at(-1)).toEqual({ jobs: ["a", "b"], metric: "eval/loss", axis: "step", max_points: 800 });
  await user.selectOptions(await screen.findByRole("combobox", { name: "Over" }), "GPU-hours");
  await user.selectOptions(screen.getByRole("combobox", { name: "Metric" }), "train/loss");
  await expect.poll(() => asked.at(-1)).toMatchObject({ metric: "train/loss", axis: "gpu_hours" });
  expect(router.state.location.search).toContain("axis=gpu_hours");
  expect(await screen.findByRole("figure", { name: "train/loss of 2 jobs by gpu-hours" })).toBeInTheDocument();
});

it("compares a thousand jobs by bounded questions, with their ids in the fragment", async () => {
  const many = Array.from({ length: 1000 }, (_, n) => job({ id: `j${n}`, name: `job ${n}`, hyperparameters: { lr: n } }));
  const asked = compared(many);
  renderPage(`/compare#jobs=${many.map(({ id }) => id).join(",")}`);
  await expect.poll(() => asked.length).toBe(5);
  expect(asked.map(({ jobs }) => jobs.length)).toEqual([200, 200, 200, 200, 200]);
  expect(asked.every(({ jobs, max_points }) => jobs.length * max_points <= 8000)).toBe(true);
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(table.getAllByRole("row").length).toBeLessThan(60);
});

it("lays runs from elsewhere beside jobs: parameters, newest values, and curves over steps and seconds", async () => {
  compared();
  const run: Run = { ...RUN, status: "FINISHED", name: "laptop", project: VISION, created_by: job().created_by, parent_job: null, started_at: AT, ended_at: AT };
  const detail: RunDetail = {
    ...run,
    params: { lr: "0.5", epochs: "3" },
    tags: {},
    metrics: [{ key: "eval/loss", n_points: 2, last_step: 1, last_value: 0.2 }],
    artifacts: [],
    datasets: [],
  };
  const points = [1, 0.2].map((value, step) => ({ step, value, at: `2026-11-01T10:00:0${step}Z` }));
  server.use(
    answers("/api/v1/runs", page([run])),
    answers("/api/v1/runs/{id}", detail),
    answers("/api/v1/runs/{id}/metrics", { key: "eval/loss", n_points: 2, is_thinned: false, points }),
  );
  const { user, router } = renderPage("/compare?jobs=a,b");
  await user.click(await screen.findByRole("combobox", { name: "Runs from elsewhere" }));
  await user.click(await screen.findByRole("option", { name: /laptop/ }));
  expect(router.state.location.search).toContain(`runs=${run.id}`);
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(await table.findByRole("link", { name: "laptop" })).toHaveAttribute("href", `/runs/${run.id}`);
  expect(table.getByRole("row", { name: /laptop Finished 0.5/ })).toBeVisible();
  expect(await screen.findByRole("figure", { name: "eval/loss of 2 jobs, 1 run by step" })).toBeInTheDocument();
  await user.selectOptions(screen.getByRole("combobox", { name: "Over" }), "GPU-hours");
  expect(await screen.findByText(/neither GPU-hours nor epochs/)).toBeVisible();
  expect(await screen.findByRole("figure", { name: "eval/loss of 2 jobs by gpu-hours" })).toBeInTheDocument();
});

it("says where to select jobs when there are none", async () => {
  renderPage("/compare");
  expect(await screen.findByRole("link", { name: "Select jobs" })).toHaveAttribute("href", "/jobs");
});

it("keeps the lines that cross each axis within its range", () => {
  const axes = [{ name: "lr", label: "lr" }, { name: "loss", label: "loss" }];
  const lines = [[0.1, 3], [0.2, 1], [null, 1]].map((values, n) => ({ id: String(n), label: "", colour: "", values }));
  expect([...keptBy(axes, lines, {})]).toEqual(["0", "1", "2"]);
  expect([...keptBy(axes, lines, { loss: { low: 0, high: 2 } })]).toEqual(["1", "2"]);
  expect([...keptBy(axes, lines, { loss: { low: 0, high: 2 }, lr: { low: 0, high: 1 } })]).toEqual(["1"]);
});

it("writes curves as CSV with names that no spreadsheet runs", () => {
  const lines = [{ id: "a", label: '=1+"x"', x: [0, 1], y: [2, null] }];
  expect(csvOfLines(lines, "step", "loss")).toBe('job,name,step,loss\r\na,"\'=1+""x""",0,2\r\na,"\'=1+""x""",1,\r\n');
});
