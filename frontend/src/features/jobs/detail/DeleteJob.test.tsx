// SPDX-License-Identifier: Apache-2.0
// Deleting a job from its page: what the dialogue says before, what it sends, and how a refusal shows.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Deletion, JobDetail } from "@/api/types";
import { job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const ADDRESS = `/jobs/${job().id}`;
const DELETION: Deletion = {
  refusal: "",
  remedy: "",
  n_attempts: 3,
  checkpoint_bytes: 2 * 1024 ** 3,
  result_bytes: 0,
  trained_model: "digits, version 2",
  n_clones: 1,
};

function shown(detail: JobDetail, deletion: Deletion = DELETION) {
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs/{id}/deletion", deletion),
    answers("/api/v1/jobs", page([])),
  );
  return renderPage(ADDRESS);
}

async function dialogue(user: ReturnType<typeof renderPage>["user"]) {
  await user.click(await screen.findByRole("button", { name: "Delete job" }));
  return within(await screen.findByRole("dialog"));
}

it("says what goes and what stays, deletes the job, and returns to the list", async () => {
  const deleted: string[] = [];
  const { user, router } = shown(jobDetail({ state: "succeeded" }));
  server.use(
    http.delete("/api/v1/jobs/:id", ({ params }) => {
      deleted.push(String(params.id));
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const dialog = await dialogue(user);
  expect(await dialog.findByText(/For good: 3 attempts with curves and logs, 2 GiB of checkpoints\./)).toBeVisible();
  expect(dialog.getByText(/What stays: the model digits, version 2 and 1 clone\./)).toBeVisible();
  expect(deleted).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Delete job" }));
  await expect.poll(() => router.state.location.pathname).toBe("/jobs");
  expect(deleted).toEqual([job().id]);
});

it("shows why it was refused, and stays", async () => {
  const { user, router } = shown(jobDetail({ state: "failed" }));
  server.use(
    http.delete("/api/v1/jobs/:id", () =>
      problem(409, { title: "Conflict", detail: "digits is queued: only jobs that have ended can be deleted." }),
    ),
  );
  const dialog = await dialogue(user);
  await user.click(dialog.getByRole("button", { name: "Delete job" }));
  expect(await dialog.findByText("digits is queued: only jobs that have ended can be deleted.")).toBeVisible();
  expect(router.state.location.pathname).toBe(ADDRESS);
});

it("is not offered for a job that runs", async () => {
  shown(jobDetail({ state: "running" }));
  expect(await screen.findByRole("button", { name: "Cancel job" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Delete job" })).not.toBeInTheDocument();
});
