// SPDX-License-Identifier: Apache-2.0
// What the API answers to the page that compares jobs and runs, and what it was asked.
import { http, HttpResponse } from "msw";

import type { components } from "@/api/schema";
import type { Job, Run } from "@/api/types";

import { VISION, job } from "./fixtures";
import { answers, page, server } from "./server";

export type ComparedRun = components["schemas"]["ComparedRun"];
type ComparedImportance = components["schemas"]["ComparedImportance"];

export const JOBS = [
  job({ id: "a", name: "slow", hyperparameters: { lr: 0.001, momentum: 0.9 }, result_metrics: { "eval/loss": 0.7 }, state: "succeeded" }),
  job({ id: "b", name: "fast", hyperparameters: { lr: 0.1, momentum: 0.9 }, result_metrics: { "eval/loss": 0.3 }, state: "succeeded" }),
];

export const IMPORTANCE: ComparedImportance = { method: "By ranks.", needed: 10, n_rows: 12, parameters: [{ name: "lr", share: 0.81, n: 12, correlation: -0.9 }] };

export interface Asked {
  jobs: string[];
  metric: string;
  axis: string;
  max_points: number;
}

export function compared(all: Job[] = JOBS, measured = IMPORTANCE): Asked[] {
  const asked: Asked[] = [];
  server.use(
    answers("/api/v1/runs", page<Run>([])),
    answers("/api/v1/jobs/{id}/difference", { settings: [], code: { files: [], n_left_out: 0, note: "" } }),
    http.post("/api/v1/jobs/compare/importance", () => HttpResponse.json(measured)),
    http.get("/api/v1/jobs", ({ request }) => {
      const ids = new URL(request.url).searchParams.get("id")?.split(",") ?? [];
      return HttpResponse.json(page(all.filter(({ id }) => ids.includes(id))));
    }),
    http.post("/api/v1/jobs/compare/metrics", () =>
      HttpResponse.json({ metrics: [{ key: "eval/loss", n_jobs: all.length }, { key: "train/loss", n_jobs: 1 }], n_metrics: 2 }),
    ),
    http.post("/api/v1/jobs/compare/curves", async ({ request }) => {
      const body = (await request.json()) as Asked;
      asked.push(body);
      return HttpResponse.json({ curves: body.jobs.map((id) => ({ job: id, x: [0, 1], y: [1, 0.5] })) });
    }),
  );
  return asked;
}

export const described = (run: Partial<ComparedRun>): ComparedRun => ({ id: "r", name: "run", status: "RUNNING", project: VISION.name, ...run });

/** params: of each run. options.most: how many runs an answer describes. */
export function comparedRuns(all: ComparedRun[], params: Record<string, string> = {}, { most = 200, nMetrics = 1 } = {}) {
  const asked = { values: [] as string[][], curves: [] as { runs: string[]; max_points: number }[] };
  server.use(
    http.post("/api/v1/runs/compare", async ({ request }) => {
      const { runs } = (await request.json()) as { runs: string[] };
      asked.values.push(runs);
      const found = all.filter(({ id }) => runs.includes(id));
      const shown = found.slice(0, most);
      return HttpResponse.json<components["schemas"]["ComparedRuns"]>({
        runs: shown,
        params: Object.entries(params).map(([key, value]) => ({ key, n_runs: shown.length, values: shown.map(() => value) })),
        metrics: [{ key: "eval/loss", n_runs: shown.length, values: shown.map((_, n) => n / 10) }],
        n_params: Object.keys(params).length,
        n_metrics: nMetrics,
        missing: runs.filter((id) => !all.some((run) => run.id === id)),
        left: found.slice(most).map(({ id }) => id),
      });
    }),
    http.post("/api/v1/runs/compare/curves", async ({ request }) => {
      const body = (await request.json()) as { runs: string[]; max_points: number };
      asked.curves.push(body);
      const curves = body.runs.filter((id) => all.some((run) => run.id === id)).map((run) => ({ run, x: [0, 1], y: [1, null] }));
      return HttpResponse.json<components["schemas"]["ComparedRunCurves"]>({ curves, left: [] });
    }),
  );
  return asked;
}
