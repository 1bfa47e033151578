// SPDX-License-Identifier: Apache-2.0
// What a job has made so far: steps, or the epochs that its script prints.
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ADDRESS = `/jobs/${job().id}`;

function shown(over: Parameters<typeof jobDetail>[0]) {
  server.use(answers("/api/v1/jobs/{id}", jobDetail(over)), answers("/api/v1/jobs/{id}/events", page([])));
  renderPage(ADDRESS);
}

it("counts the epochs of a script that prints them, and no examples a second", async () => {
  shown({ state: "running", steps_done: 2, steps_total: 20, epoch: 2.5, progress: 0.125, step_s: 30, step_unit: "epoch" });
  expect(await screen.findByText("2.5 of 20 epochs")).toBeVisible();
  expect(screen.getByText("Time of an epoch")).toBeVisible();
  expect(screen.queryByText("Throughput")).toBeNull();
});

it("counts the steps of any other job", async () => {
  shown({ state: "running", steps_done: 120, steps_total: 600, progress: 0.2, step_s: 0.1 });
  expect(await screen.findByText("120 of 600 steps")).toBeVisible();
  expect(screen.getByText("Throughput")).toBeVisible();
});
