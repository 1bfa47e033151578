// SPDX-License-Identifier: Apache-2.0
// The plan of a new job: when it is expected to start and end, before it is submitted.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { JobPreview, JobSubmit } from "@/api/types";
import { dataset } from "@/testing/fixtures";
import { BUILTIN, PRESELECTED, answerNewJob } from "@/testing/newJobAnswers";
import { renderPage } from "@/testing/render";
import { jobPreview } from "@/testing/schedulingFixtures";
import { server } from "@/testing/server";

beforeEach(answerNewJob);

it("says before it is submitted when it is expected to start and end", async () => {
  const after = {
    decision: "wait" as const,
    mode: "",
    n_workers: 0,
    n_servers: 0,
    start_at: "2026-03-02T09:02:00Z",
    finish_at: "2026-03-02T09:30:00Z",
    finish_p90_at: "2026-03-02T09:45:00Z",
    explanations: [{ reason: "no_free_gpus", sentence: "All 8 GPUs are in use; it needs 1.", facts: {} }],
  };
  const run = { ...after, gpu_type: "", nodes: [], start_p90_at: "2026-03-02T09:04:00Z", gpu_hours: 0.5 };
  const faster = { ...run, n_workers: 2 };
  let asked: JobSubmit | undefined;
  server.use(
    http.post("/api/v1/jobs/preview", async ({ request }) => {
      asked = (await request.json()) as JobSubmit;
      return HttpResponse.json<JobPreview>(
        jobPreview({
          as_of: "2026-03-02T09:00:00Z",
          basis: "measured",
          plan: run,
          n_delayed: 2,
          alternatives: [
            { goal: "earliest", run: faster, finish_delta_s: -300, gpu_hours_delta: 0.25 },
            { goal: "cheapest", run: { ...run, n_workers: 1 }, finish_delta_s: 60, gpu_hours_delta: -0.1 },
          ],
        }),
      );
    }),
  );
  renderPage(PRESELECTED);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).toHaveTextContent(/It is pending for about 2 min 00 s \(by .+ in nine cases of ten\)\./);
  expect(preview).toHaveTextContent("All 8 GPUs are in use; it needs 1.");
  expect(preview).toHaveTextContent("Based on measurements of jobs like it.");
  expect(preview).toHaveTextContent("It takes about 0.5 GPU-hours. With it your organisation requests 9 of its 8 GPUs.");
  expect(preview).toHaveTextContent("Finishes first: 2 GPUs, 5 min 00 s earlier, 0.25 GPU-hours more.");
  expect(preview).toHaveTextContent("Costs least: 1 GPU, 1 min 00 s later, 0.1 GPU-hours less.");
  expect(preview).toHaveTextContent("2 jobs of your organisation would finish later.");
  expect(asked).toMatchObject({ dataset: dataset().id, model: BUILTIN.id });
});

it("says while the scheduler is asked again that the plan is of the settings before", async () => {
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  server.use(
    http.post("/api/v1/jobs/preview", async ({ request }) => {
      const { epochs } = (await request.json()) as JobSubmit;
      if (epochs === 7) await answered;
      return HttpResponse.json<JobPreview>(jobPreview());
    }),
  );
  const { user } = renderPage(PRESELECTED);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).not.toHaveTextContent("settings before");
  await user.type(screen.getByRole("textbox", { name: "Epochs" }), "7");
  expect(await screen.findByText(/is for the settings before/)).toBeVisible();
  answer();
  await expect.poll(() => preview.textContent).not.toContain("settings before");
});

it("names no start of a job that nothing is known to make room for", async () => {
  const after = {
    decision: "wait" as const,
    mode: "",
    n_workers: 0,
    n_servers: 0,
    start_at: "2026-03-02T09:00:00Z",
    finish_at: "2026-03-02T09:30:00Z",
    finish_p90_at: null,
    explanations: [{ reason: "quota", sentence: "Acme uses all 8 GPUs of its quota.", facts: {} }],
  };
  const run = { ...after, gpu_type: "", nodes: [], start_p90_at: null, gpu_hours: 0.5 };
  server.use(
    http.post("/api/v1/jobs/preview", () => HttpResponse.json<JobPreview>(jobPreview({ as_of: "2026-03-02T09:00:00Z", plan: run }))),
  );
  renderPage(PRESELECTED);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).toHaveTextContent("It stays pending; when it can start is not known.");
  expect(preview).toHaveTextContent("Acme uses all 8 GPUs of its quota.");
  expect(preview).not.toHaveTextContent("0 s");
  expect(preview).not.toHaveTextContent("Predicted finish");
});
