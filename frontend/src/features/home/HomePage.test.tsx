// SPDX-License-Identifier: Apache-2.0
// The first page: one's jobs with what one wants to know of each, and the way of new people to a first model.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Job } from "@/api/types";
import { job, me, organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

import { sampleCsv } from "./sample";

/** Answers with those of the states that are asked for; remembers whose were asked for. */
function mine(all: Job[]): (string | null)[] {
  const owners: (string | null)[] = [];
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      const query = new URL(request.url).searchParams;
      owners.push(query.get("owner"));
      return HttpResponse.json(page(all.filter(({ state }) => query.getAll("state").includes(state))));
    }),
  );
  return owners;
}

it("shows one's own jobs: running with curve and finish, waiting with the reason, failed with the cause", async () => {
  const explanations = [{ reason: "no_free_gpus", sentence: "All 4 GPUs are in use.", facts: {} }];
  const failure = { cause: "oom", fault: "user", message: "Out of memory.", remedy: "", field: null, traceback: null } as unknown as Job["failure"];
  const owners = mine([
    job({ id: "r", name: "digits", progress: 0.25, predicted_finish_at: new Date(Date.now() + 7_300_000).toISOString() }),
    job({ id: "w", name: "letters", state: "queued", current_attempt: null, explanations }),
    job({ id: "f", name: "words", state: "failed", failure, finished_at: "2026-03-02T09:00:00Z" }),
  ]);
  server.use(
    http.post("/api/v1/jobs/compare/curves", () => HttpResponse.json({ curves: [{ job: "r", x: [1, 2, 3], y: [3, 2, 1] }] })),
  );
  renderPage("/");
  const running = within(await screen.findByRole("region", { name: "Running" }));
  expect(await running.findByRole("link", { name: "digits" })).toHaveAttribute("href", "/jobs/r");
  expect(await running.findByRole("img", { name: "Loss of digits" })).toBeInTheDocument();
  expect(running.getByText("25 %")).toBeVisible();
  expect(running.getByText(/^finish/)).toHaveTextContent("in 2 h");
  expect(await within(screen.getByRole("region", { name: "Waiting" })).findByText("All 4 GPUs are in use.")).toBeVisible();
  expect(await within(screen.getByRole("region", { name: "Ended" })).findByText(/Out of memory\./)).toBeVisible();
  expect(screen.getByRole("link", { name: "Run again: words" })).toHaveAttribute("href", "/jobs/new?clone=f");
  expect(new Set(owners)).toEqual(new Set(["ada"]));
  expect(screen.queryByRole("region", { name: "First steps" })).not.toBeInTheDocument();
});

it("says how many GPUs of each type are free, and how long jobs waited lately", async () => {
  mine([]);
  const base = cluster();
  const [rack] = base.racks;
  const [node] = rack?.nodes ?? [];
  if (rack === undefined || node === undefined) throw new Error("the fixture has no node");
  const free = { index: 0, job: null, colocated: [], gpu: null };
  const other = { ...node, name: "node-b", gpu_type: "A100", slots: [free, { ...free, index: 1 }] };
  const waits = { median_s: 125, n_jobs: 7, scope: "visible" as const, since: "2026-03-01T09:00:00Z" };
  server.use(answers("/api/v1/cluster", { ...base, racks: [{ ...rack, nodes: [node, other] }] }), answers("/api/v1/queue/waits", waits));
  renderPage("/");
  expect(await screen.findByRole("list", { name: "Free GPUs by type" })).toHaveTextContent("A100: 2 freeH100: 1 free");
  expect(await screen.findByText("Median wait of the last 24 h: 2 min 05 s (7 jobs that you see)")).toBeVisible();
});

it("makes up no wait where no job started, and says whose it is where it is of all", async () => {
  mine([]);
  const since = "2026-03-01T09:00:00Z";
  server.use(answers("/api/v1/queue/waits", { median_s: null, n_jobs: 0, scope: "visible" as const, since }));
  const { unmount } = renderPage("/");
  expect(await screen.findByText(/not known, since no job that you see started/)).toBeVisible();
  unmount();
  server.use(answers("/api/v1/queue/waits", { median_s: 40, n_jobs: 30, scope: "cluster" as const, since }));
  renderPage("/");
  expect(await screen.findByText("Median wait of the last 24 h: 40 s (30 jobs of the whole cluster)")).toBeVisible();
});

it("lets who has an organisation and no project create one where they are", async () => {
  mine([]);
  let projects: ReturnType<typeof project>[] = [];
  server.use(
    answers("/api/v1/datasets", page([])),
    answers("/api/v1/organisations", page([organisation()])),
    answers("/api/v1/projects", () => page(projects)),
    http.post("/api/v1/projects", async ({ request }) => {
      const { name } = (await request.json()) as { name: string };
      projects = [project({ name })];
      return HttpResponse.json(projects[0], { status: 201 });
    }),
  );
  const { user } = renderPage("/");
  await user.type(await screen.findByRole("textbox", { name: "New project" }), "first{Enter}");
  expect(await screen.findByText(/A project: .* \/ first ✓/)).toBeVisible();
  expect(screen.getByRole("button", { name: "Train a sample" })).toBeVisible();
});

it.each([
  ["who may only look: whom to ask", me({ memberships: [{ id: "m", organisation: { id: "a", name: "Acme" }, role: "viewer" }] }), /Making a project needs the role member in Acme; yours is viewer/],
  ["who belongs to nothing: that an invitation is needed", me({ memberships: [] }), /Get a project: ask an admin of an organisation to invite you/],
  ["administrators of an empty platform: where an organisation is made", me({ memberships: [], is_staff: true }), /Get a project: make an organisation and a project/],
])("says to %s", async (_, person, text) => {
  mine([]);
  server.use(
    answers("/api/v1/auth/me", person),
    answers("/api/v1/datasets", page([])),
    answers("/api/v1/organisations", page([])),
    answers("/api/v1/projects", page([])),
    answers("/api/v1/organisations/{id}/members", page([])),
  );
  renderPage("/");
  const steps = await screen.findByRole("region", { name: "First steps" });
  await waitFor(() => expect(steps).toHaveTextContent(text));
});

it("leads new people to a first model: the sample is uploaded, awaited and trained through the ordinary API", async () => {
  mine([]);
  const sent: unknown[] = [];
  const states = ["inspecting", "ready"];
  server.use(
    answers("/api/v1/datasets", page([])),
    http.post("/api/v1/datasets", () => HttpResponse.json({ id: "d", name: "two-moons-sample" }, { status: 201 })),
    http.get("/api/v1/datasets/d", () => HttpResponse.json({ id: "d", latest_version: { state: states.shift() } })),
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(job({ id: "made" }) as object, { status: 201 });
    }),
  );
  const { user, router } = renderPage("/");
  await user.click(await screen.findByRole("button", { name: "Train a sample" }));
  await expect.poll(() => router.state.location.pathname).toBe("/jobs/made");
  expect(sent).toEqual([expect.objectContaining({ dataset: "d", model: "mlp", project: project().id })]);
  expect(states).toEqual([]);
});

it("makes the same rows each time, of two classes alike", () => {
  const rows = sampleCsv().trim().split("\n").slice(1);
  expect(sampleCsv()).toBe(sampleCsv());
  expect(rows).toHaveLength(600);
  expect(rows.filter((row) => row.endsWith(",upper"))).toHaveLength(300);
  expect(rows.every((row) => /^-?\d+\.\d{4},-?\d+\.\d{4},(upper|lower)$/.test(row))).toBe(true);
});
