// SPDX-License-Identifier: Apache-2.0
// Runs from elsewhere: the list, a run's parts and files, its deletion, and what a person without a run should do.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Run, RunDetail, RunMetric } from "@/api/types";
import { AT, VISION, job, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const RUN: Run = {
  id: "00000000-0000-7000-8000-00000000aa01",
  name: "calm-lake-1",
  status: "FINISHED",
  project: VISION,
  created_by: job().created_by,
  parent_job: null,
  started_at: AT,
  ended_at: AT,
};
const DETAIL: RunDetail = {
  ...RUN,
  params: { lr: "0.1" },
  tags: { note: "first" },
  n_metrics: 2,
  n_artifacts: 1,
  datasets: [{ name: "iris", digest: "d1" }],
};

const METRICS: RunMetric[] = [
  { key: "broken", n_points: 1, last_step: 0, last_value: null },
  { key: "loss", n_points: 2, last_step: 7, last_value: 0.25 },
];

function shown(path: string, detail: RunDetail = DETAIL) {
  const curve = { key: "loss", n_points: 1, is_thinned: false, points: [{ step: 1, at: AT, value: 1 }] };
  server.use(
    answers("/api/v1/runs", page([RUN])),
    answers("/api/v1/runs/{id}", detail),
    answers("/api/v1/runs/{id}/metrics", curve),
    answers("/api/v1/runs/{id}/metrics/names", page(METRICS)),
    answers("/api/v1/runs/{id}/artifacts", page([{ path: "plots/a b.png", size_bytes: 2048 }])),
  );
  return renderPage(path);
}

it("lists runs, and leads to one of them", async () => {
  const { user, router } = shown("/runs");
  const table = await screen.findByRole("table", { name: "Runs" });
  expect(within(table).getByText("Finished")).toBeVisible();
  await user.click(within(table).getByRole("link", { name: "calm-lake-1" }));
  expect(await screen.findByRole("heading", { name: "calm-lake-1" })).toBeVisible();
  expect(router.state.location.pathname).toBe(`/runs/${RUN.id}`);
});

it("leads from selected runs to the page that compares them", async () => {
  const { user } = shown("/runs");
  await user.click(await screen.findByRole("checkbox", { name: "Select calm-lake-1" }));
  expect(screen.getByRole("link", { name: "Compare 1 run" })).toHaveAttribute("href", `/compare?runs=${RUN.id}`);
});

it("lists the runs of one project, which the API searches among any number", async () => {
  const asked: (string | null)[] = [];
  const { user, router } = shown("/runs");
  const many = Array.from({ length: 50 }, (_, n) => project({ id: `p${String(n)}`, name: `usual ${String(n)}` }));
  server.use(
    http.get("/api/v1/projects", ({ request }) => {
      const search = new URL(request.url).searchParams.get("search");
      asked.push(search);
      const results = search === null ? many : [project({ id: "far", name: "far away" })];
      return HttpResponse.json({ previous: null, next: search === null ? "http://localhost/api/v1/projects?cursor=c" : null, results });
    }),
  );
  await user.click(await screen.findByRole("combobox", { name: "Project" }));
  await user.paste("far");
  await user.click(await screen.findByRole("option", { name: /far away/ }));
  await expect.poll(() => router.state.location.search).toContain("project=far");
  expect(asked).toContain("far");
});

it("says how to log the first run", async () => {
  server.use(answers("/api/v1/runs", page<Run>([])));
  renderPage("/runs");
  expect(await screen.findByText(/MLFLOW_TRACKING_URI to http/)).toBeVisible();
  expect(screen.getByRole("link", { name: "Make an API token" })).toHaveAttribute("href", "/tokens");
});

it("shows parameters, tags, datasets, newest values and files of a run", async () => {
  shown(`/runs/${RUN.id}`);
  const cell = async (table: string, name: string) =>
    expect(within(await screen.findByRole("table", { name: table })).getByRole("cell", { name })).toBeVisible();
  await cell("Parameters", "0.1");
  await cell("Tags", "first");
  await cell("Datasets", "d1");
  await cell("Newest values", "0.25");
  await cell("Newest values", "not a number");
  expect(screen.getByRole("figure", { name: "Curve of loss by step" })).toBeInTheDocument();
  const file = await screen.findByRole("link", { name: "plots/a b.png" });
  expect(file).toHaveAttribute("href", `/api/v1/runs/${RUN.id}/artifacts/plots/a%20b.png`);
});

it("shows a thousand metrics a page at a time, reads only the curves in it, and searches on the server", async () => {
  const many = Array.from({ length: 1000 }, (_, n): RunMetric => ({ key: `layer${String(n).padStart(3, "0")}/norm`, n_points: 1, last_step: 1, last_value: n }));
  const read = new Set<string>();
  const { user, router } = shown(`/runs/${RUN.id}`, { ...DETAIL, n_metrics: 1000 });
  server.use(
    http.get("/api/v1/runs/:id/metrics/names", ({ request }) => {
      const query = new URL(request.url).searchParams;
      const found = many.filter(({ key }) => key.includes(query.get("search") ?? ""));
      const begin = Number(query.get("cursor") ?? 0);
      const end = begin + Number(query.get("limit"));
      const at = (cursor: number) => `http://localhost/?cursor=${String(cursor)}`;
      return HttpResponse.json({ previous: begin > 0 ? at(begin - 12) : null, next: end < found.length ? at(end) : null, results: found.slice(begin, end) });
    }),
    http.get("/api/v1/runs/:id/metrics", ({ request }) => {
      const key = new URL(request.url).searchParams.get("key") ?? "";
      read.add(key);
      return HttpResponse.json({ key, n_points: 1, is_thinned: false, points: [{ step: 1, at: AT, value: 1 }] });
    }),
  );
  const names = () => within(screen.getByRole("table", { name: "Newest values" })).getAllByRole("rowheader").map(({ textContent }) => textContent);
  expect(await screen.findByRole("figure", { name: "Curve of layer011/norm by step" })).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: "Metrics (1,000)" })).toBeVisible();
  await expect.poll(() => read.size).toBe(12);
  await user.click(screen.getByRole("button", { name: "Next" }));
  await expect.poll(() => names()[0]).toBe("layer012/norm");
  await user.type(screen.getByRole("searchbox", { name: "Search: Metrics" }), "777");
  await expect.poll(names).toEqual(["layer777/norm"]);
  expect(router.state.location.search).toBe("?metric=777");
  await expect.poll(() => read.size).toBe(25);
});

it("deletes a run after asking, and returns to the list", async () => {
  const { user, router } = shown(`/runs/${RUN.id}`);
  const deleted: string[] = [];
  server.use(
    http.delete("/api/v1/runs/:id", ({ params }) => {
      deleted.push(String(params["id"]));
      return new HttpResponse(null, { status: 204 });
    }),
  );
  await user.click(await screen.findByRole("button", { name: "Delete run" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("For good: 2 curves and 1 artifact.")).toBeVisible();
  await user.click(dialog.getByRole("button", { name: "Delete run" }));
  await screen.findByRole("table", { name: "Runs" });
  expect(deleted).toEqual([RUN.id]);
  expect(router.state.location.pathname).toBe("/runs");
});
