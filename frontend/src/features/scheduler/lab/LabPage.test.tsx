// SPDX-License-Identifier: Apache-2.0
// The policy lab: a comparison is asked for, errors are said at their fields, and figures begin with how true they are.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Replay, ReplayCreate, ReplayDetail, SchedulerSettings } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

const ID = "00000000-0000-4000-8000-000000000009";
const SETTINGS: SchedulerSettings = {
  policy: "mlhub",
  parameters: {},
  budget_s: 10,
  shadow_policy: "",
  shadow_parameters: {},
  version: 4,
  updated_at: "2026-03-02T09:00:00Z",
  policies: ["las", "mlhub", "srtf"],
  known: [
    { name: "las", parameters: { limits: [3250, 7200] } },
    { name: "mlhub", parameters: { power: 0.75 } },
    { name: "srtf", parameters: {} },
  ],
};
const REPLAY: Replay = {
  id: ID,
  name: "last day",
  created_by: "root",
  created_at: "2026-03-02T09:00:00Z",
  since: "2026-03-01T09:00:00Z",
  until: "2026-03-02T09:00:00Z",
  trace_name: "",
  policies: [{ name: "srtf", parameters: {} }],
  state: "queued",
  progress: null,
  error: "",
  started_at: null,
  ended_at: null,
};
const TIMES = { n_jobs: 3, mean_jct_s: 3600, median_jct_s: 3000, p99_jct_s: 7200, curve: [[600, 0.5], [7200, 1]] };
const FIGURES = { ...TIMES, makespan_s: 9000, gpu_use: 0.5, n_restarts: 0, decide_ms: 2, worst_hit: [] };
const DONE: ReplayDetail = {
  ...REPLAY,
  state: "succeeded",
  result: {
    reproduction: { n_jobs: 3, real_mean_jct_s: 4000, simulated_mean_jct_s: 3600, mean_error: -0.1, median_job_error: 0.05, p90_job_error: 0.3 },
    real: { ...TIMES, mean_jct_s: 4000 },
    policies: [
      { label: "mlhub", policy: "mlhub", parameters: {}, error: "", figures: { ...FIGURES, by_organisation: [{ organisation: "A", n_jobs: 3, mean_jct_s: 3600 }] } },
      {
        label: "las",
        policy: "las",
        parameters: { limits: [60] },
        error: "",
        figures: {
          ...FIGURES,
          mean_jct_s: 2700,
          by_organisation: [{ organisation: "A", n_jobs: 3, mean_jct_s: 2700 }],
          worst_hit: [{ job: ID, name: "slow one", organisation: "A", jct_s: 7200, baseline_jct_s: 3600 }],
        },
      },
      { label: "srtf", policy: "srtf", parameters: {}, error: "RuntimeError: 1 job never run", figures: null },
    ],
    n_jobs: 3,
    n_before: 1,
    left_out: { never_trained: 2 },
    n_policies: 1,
    n_absences: 0,
    n_rounds: 2000,
    rounds_from: "2026-11-22T10:00:00Z",
    rounds_until: "2026-11-22T20:00:00Z",
    n_nodes: 2,
    n_gpus: 8,
  },
};

describe("The policy lab", () => {
  beforeEach(() => {
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers("/api/v1/scheduler/settings", SETTINGS),
      answers("/api/v1/scheduler/replays", { next: null, previous: null, results: [] }),
    );
  });

  it("asks for a comparison of the last day and shows it", async () => {
    let sent: ReplayCreate | undefined;
    server.use(
      http.post("/api/v1/scheduler/replays", async ({ request }) => {
        sent = (await request.json()) as ReplayCreate;
        return HttpResponse.json<Replay>(REPLAY, { status: 202 });
      }),
      answers(`/api/v1/scheduler/replays/${ID}`, { ...REPLAY, result: null }),
    );
    const { user } = renderPage("/scheduler/lab");
    await user.selectOptions(await screen.findByLabelText("Policy"), "las");
    await user.type(screen.getByLabelText("Policy: Limits of the queues (GPU-seconds) (limits)"), "[[60]");
    await user.click(screen.getByRole("button", { name: "Compare" }));
    expect(await screen.findByText("Waiting for a worker")).toBeVisible();
    expect(sent?.policies).toEqual([{ name: "las", parameters: { limits: [60] } }]);
    expect(new Date(sent?.until ?? "").getTime() - new Date(sent?.since ?? "").getTime()).toBe(86_400_000);
  });

  it("sends a trace, and says at the file what is wrong with which row", async () => {
    const message = "mine.csv, row 2: n_gpus is 'two'; it must be a number of at least 1";
    server.use(
      http.post("/api/v1/scheduler/replays", () => problem(422, { detail: message, errors: [{ field: "trace.text", message }] })),
    );
    const { user } = renderPage("/scheduler/lab");
    await user.click(await screen.findByText("A trace file"));
    const file = new File(["job,submitted_at_s,n_gpus,duration_s\na,0,two,5\n"], "mine.csv", { type: "text/csv" });
    await user.upload(screen.getByLabelText("Trace file"), file);
    await user.click(screen.getByRole("button", { name: "Compare" }));
    expect(await screen.findByText(message)).toBeVisible();
  });

  it.each([
    ["", "The file is empty. Choose one with a header and a row for each job."],
    ["a".repeat(900_001), "The file has 879 KiB, and a trace has at most 900,000 bytes. Keep fewer of its jobs or columns."],
  ])("says before it is sent that a file is empty or too large", async (text, message) => {
    const { user } = renderPage("/scheduler/lab");
    await user.click(await screen.findByText("A trace file"));
    await user.upload(screen.getByLabelText("Trace file"), new File([text], "mine.csv", { type: "text/csv" }));
    expect(await screen.findByText(message)).toBeVisible();
    expect(screen.getByRole("button", { name: "Compare" })).toBeDisabled();
    await user.upload(screen.getByLabelText("Trace file"), new File(["job"], "mine.csv", { type: "text/csv" }));
    expect(screen.queryByText(message)).toBeNull();
    expect(screen.getByRole("button", { name: "Compare" })).toBeEnabled();
  });

  it("says first how true the simulation is, then compares each policy with the one that ran", async () => {
    server.use(answers(`/api/v1/scheduler/replays/${ID}`, DONE));
    renderPage(`/scheduler/lab/${ID}`);
    const truth = await screen.findByRole("region", { name: "How true the simulation is" });
    expect(truth).toHaveTextContent("took 1 h 00 min on average; in fact they took 1 h 06 min (−10 %)");
    expect(truth).toHaveTextContent("left out: 2 jobs (ended before its first step)");
    expect(truth).toHaveTextContent("known from 2,000 stored rounds");
    expect(truth).toHaveTextContent("the platform keeps its newest 2,000");
    const table = screen.getByRole("table", { name: "Policies" });
    expect(truth.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(within(table).getByRole("row", { name: /las/ })).toHaveTextContent("45 min 00 s−25 %");
    expect(within(table).getByRole("row", { name: /srtf/ })).toHaveTextContent("1 job never run");
    expect(screen.getByRole("link", { name: "slow one" })).toHaveAttribute("href", `/jobs/${ID}`);
    const use = within(table).getByRole("link", { name: "Use this policy: las" });
    expect(use).toHaveAttribute("href", "/scheduler?policy=las&parameters=%7B%22limits%22%3A%5B60%5D%7D");
  });

  it("leads to the settings with that policy filled in, and nothing saved", async () => {
    server.use(http.get("/api/v1/scheduler/insight", () => problem(500, { detail: "not of interest" })));
    renderPage("/scheduler?policy=las&parameters=%7B%22limits%22%3A%5B60%5D%7D");
    expect(await screen.findByLabelText("Policy")).toHaveValue("las");
    expect(screen.getByLabelText("Policy: Limits of the queues (GPU-seconds) (limits)")).toHaveValue("[60]");
    expect(screen.getByRole("button", { name: "Save" })).toBeEnabled();
  });

  it("is cancelled after a question, while it runs", async () => {
    const asked: string[] = [];
    const running: ReplayDetail = { ...DONE, state: "running", progress: { policy: "las", n_done: 40, n_jobs: 100 }, result: null };
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers(`/api/v1/scheduler/replays/${ID}`, running),
      http.post("/api/v1/scheduler/replays/:id/cancel", ({ params }) => {
        asked.push(String(params["id"]));
        return HttpResponse.json({ ...running, state: "cancelled" });
      }),
    );
    const { user } = renderPage(`/scheduler/lab/${ID}`);
    await user.click(await screen.findByRole("button", { name: "Cancel the comparison" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Cancel the comparison?" }));
    expect(asked).toEqual([]);
    await user.click(dialog.getByRole("button", { name: "Cancel the comparison" }));
    await waitFor(() => expect(asked).toEqual([ID]));
  });

  it("is for administrators, and leads others to the queue", async () => {
    server.use(answers("/api/v1/auth/me", me()));
    renderPage("/scheduler/lab");
    expect(await screen.findByText("This page is for administrators")).toBeVisible();
    expect(within(screen.getByRole("main")).getByRole("link", { name: "Queue" })).toHaveAttribute("href", "/queue");
  });
});
