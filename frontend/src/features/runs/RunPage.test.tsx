// SPDX-License-Identifier: Apache-2.0
// Runs from elsewhere: the list, a run's parts and files, its deletion, and what a person without a run should do.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Run, RunDetail, RunMetric } from "@/api/types";
import { AT, VISION, job, project, run } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const RUN = run();
const DETAIL: RunDetail = {
  ...RUN,
  n_params: 1,
  n_tags: 1,
  n_metrics: 2,
  n_artifacts: 1,
  n_datasets: 1,
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
    answers("/api/v1/runs/{id}/params", page([{ key: "lr", value: "0.1" }])),
    answers("/api/v1/runs/{id}/tags", page([{ key: "note", value: "first" }])),
    answers("/api/v1/runs/{id}/datasets", page([{ name: "iris", digest: "d1" }])),
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

it("is led to by the address that MLflow's client prints at a run's end", async () => {
  const { router } = shown(`/#/experiments/${VISION.id}/runs/${RUN.id}`);
  expect(await screen.findByRole("heading", { name: "calm-lake-1" })).toBeVisible();
  expect(router.state.location).toMatchObject({ pathname: `/runs/${RUN.id}`, hash: "" });
});

it.each([
  [`/#/experiments/${VISION.id}`, "/runs", `?project=${VISION.id}`],
  ["/#/models/churn/versions/2", "/models", ""],
  ["/#sign-in", "/", ""],
])("leads from MLflow's address %s to %s", async (address, pathname, search) => {
  const { router } = shown(address);
  await screen.findByRole("navigation", { name: "Main" });
  expect(router.state.location).toMatchObject({ pathname, search });
});

it("leads from a run that a job logs to, which has the job's id, to the job's page", async () => {
  server.use(
    http.get("/api/v1/runs/:id", () => problem(404, { detail: "There is no such run." })),
    answers("/api/v1/jobs/{id}", job()),
  );
  const { router } = renderPage(`/runs/${job().id}`);
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
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

describe("The steps in the address", () => {
  /** A curve of which the whole leaves points out; what is asked for of it is kept in the list that is returned. */
  function withLongCurve(isThinned = true): string[] {
    const asked: string[] = [];
    server.use(
      http.get("/api/v1/runs/:id/metrics", ({ request }) => {
        const query = new URL(request.url).searchParams;
        const [first, last] = [query.get("first_step"), query.get("last_step")];
        asked.push(first === null ? "whole" : `${first} to ${String(last)}`);
        const points = [12, 15].map((step) => ({ step, at: AT, value: step }));
        return HttpResponse.json({ key: "loss", n_points: 9000, is_thinned: isThinned && first === null, points });
      }),
    );
    return asked;
  }

  it("are those that charts show, with the points that the whole curves leave out, until all are asked for", async () => {
    const { user, router } = shown(`/runs/${RUN.id}?log=1&steps=10~20`);
    const asked = withLongCurve();
    await user.click(await screen.findByRole("button", { name: "Steps 10 to 20: show all" }));
    await expect.poll(() => asked).toContain("10 to 20");
    expect(router.state.location.search).toBe("?log=1");
    expect(screen.queryByRole("button", { name: /show all$/ })).not.toBeInTheDocument();
  });

  it("cost no further question where nothing was left out", async () => {
    shown(`/runs/${RUN.id}?steps=10~20`);
    const asked = withLongCurve(false);
    expect(await screen.findByRole("button", { name: "Steps 10 to 20: show all" })).toBeVisible();
    await expect.poll(() => asked.length).toBe(METRICS.length);
    expect(new Set(asked)).toEqual(new Set(["whole"]));
  });

  it.each(["20~10", "10", "~20", "-1~5", "a~b", "1.5~2"])("are all of them at steps=%s", async (text) => {
    shown(`/runs/${RUN.id}?steps=${text}`);
    const asked = withLongCurve();
    await expect.poll(() => asked.length).toBe(METRICS.length);
    expect(new Set(asked)).toEqual(new Set(["whole"]));
    expect(screen.queryByRole("button", { name: /show all$/ })).not.toBeInTheDocument();
  });
});

it("shows thousands of parameters a page at a time, searches them on the server, and scrolls within long values", async () => {
  const many = Array.from({ length: 2000 }, (_, n) => ({ key: `p${String(n).padStart(4, "0")}`, value: n === 0 ? "x".repeat(6000) : `v${String(n)}` }));
  const { user, router } = shown(`/runs/${RUN.id}`, { ...DETAIL, n_params: 2000 });
  server.use(
    http.get("/api/v1/runs/:id/params", ({ request }) => {
      const query = new URL(request.url).searchParams;
      const found = many.filter(({ key, value }) => `${key} ${value}`.includes(query.get("search") ?? ""));
      const begin = Number(query.get("cursor") ?? 0);
      const at = (cursor: number) => `http://localhost/?cursor=${String(cursor)}`;
      return HttpResponse.json({ previous: begin > 0 ? at(begin - 50) : null, next: begin + 50 < found.length ? at(begin + 50) : null, results: found.slice(begin, begin + 50) });
    }),
  );
  const table = await screen.findByRole("table", { name: "Parameters" });
  expect(screen.getByRole("heading", { name: "Parameters (2,000)" })).toBeVisible();
  const names = () => within(screen.getByRole("table", { name: "Parameters" })).getAllByRole("rowheader").map(({ textContent }) => textContent);
  expect(names()).toHaveLength(50);
  expect(within(table).getByRole("group", { name: "Value of p0000" })).toHaveAttribute("tabindex", "0");
  await user.type(screen.getByRole("searchbox", { name: "Search: Parameters" }), "v1777");
  await expect.poll(names).toEqual(["p1777"]);
  expect(router.state.location.search).toBe("?params=v1777");
});

it("searches runs on the server, with what was searched in the address", async () => {
  const asked: (string | null)[] = [];
  const { user, router } = shown("/runs?project=p1");
  server.use(
    http.get("/api/v1/runs", ({ request }) => {
      const search = new URL(request.url).searchParams.get("search");
      asked.push(search);
      return HttpResponse.json(page(search === "lr=0.2" ? [] : [RUN]));
    }),
  );
  await user.type(await screen.findByRole("searchbox", { name: "Search" }), " lr=0.1 ");
  await expect.poll(() => router.state.location.search).toBe("?project=p1&search=lr%3D0.1");
  await expect.poll(() => asked).toContain("lr=0.1");
  expect(screen.getByRole("link", { name: "calm-lake-1" })).toBeVisible();
});

it("says of a search without a result how parameters are found, and leads back to all", async () => {
  server.use(answers("/api/v1/runs", page<Run>([])));
  renderPage("/runs?search=lr");
  expect(await screen.findByText(/parameters and tags as lr=0.1/)).toBeVisible();
  expect(screen.getByRole("searchbox", { name: "Search" })).toHaveValue("lr");
  expect(screen.getByRole("link", { name: "Show all runs" })).toHaveAttribute("href", "/runs");
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
