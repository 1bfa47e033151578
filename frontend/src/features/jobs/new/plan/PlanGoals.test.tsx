// SPDX-License-Identifier: Apache-2.0
// Sizes by what one wants of the job: taken by one click, given back, and in time.
import { fireEvent, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { JobPreview, PlannedJob } from "@/api/types";
import { dataset, model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { jobPreview } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

const builtin = model({ id: "00000000-0000-7000-8000-0000000000e9", name: "MLP", project: null });
const preselected = `/jobs/new?dataset=${dataset().id}&model=${builtin.id}`;

it("takes another size by one click, gives it back, and says which size is in time", async () => {
  const asked: PlannedJob[] = [];
  const two = { goal: "by_date" as const, run: { ...jobPreview().plan, n_workers: 2 }, finish_delta_s: 60, gpu_hours_delta: -0.1 };
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([builtin])),
    http.post("/api/v1/jobs/preview", async ({ request }) => {
      const body = (await request.json()) as PlannedJob;
      asked.push(body);
      return HttpResponse.json<JobPreview>(jobPreview({ alternatives: body.finish_by && body.max_workers !== 2 ? [two] : [] }));
    }),
  );
  const { user, router } = renderPage(preselected);
  const plan = within(await screen.findByRole("region", { name: "If you start it now" }));
  fireEvent.change(plan.getByLabelText("Finished by"), { target: { value: "2099-01-01T10:00" } });
  expect(await plan.findByText(/In time at the least cost: 2 GPUs, 1 min 00 s later, 0.1 GPU-hours less/)).toBeVisible();
  expect(asked.at(-1)?.finish_by).toBe(new Date("2099-01-01T10:00").toISOString());
  expect(router.state.location.search).toContain("by=2099-01-01T10");
  await user.click(plan.getByRole("button", { name: "Use 2 GPUs" }));
  expect(await plan.findByText("It is fixed at 2 GPUs.")).toBeVisible();
  await expect.poll(() => asked.at(-1)).toMatchObject({ min_workers: 2, max_workers: 2 });
  await user.click(plan.getByRole("button", { name: "Let MLHub choose the size" }));
  expect(await plan.findByRole("button", { name: "Use 2 GPUs" })).toBeVisible();
  expect(plan.queryByText("It is fixed at 2 GPUs.")).toBeNull();
});
