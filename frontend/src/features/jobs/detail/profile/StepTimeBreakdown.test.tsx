// SPDX-License-Identifier: Apache-2.0
// The bars of a gang's workers: who is slow is said, and of a large gang the slow ones are shown first.
import { MantineProvider } from "@mantine/core";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import type { WorkerStepTime } from "@/api/types";

import { StepTimeBreakdown } from "./StepTimeBreakdown";

function worker(rank: number, over: Partial<WorkerStepTime> = {}): WorkerStepTime {
  const times = { step_s: 0.2, input_s: 0, compute_s: 0.05, sync_s: 0.15, wait_s: 0.1 };
  return { worker: rank, node: `n${rank}`, step: 40, n_steps: 20, ...times, at: "2026-03-02T09:05:00Z", slowdown: 1, is_straggler: false, ...over };
}

function show(...workers: WorkerStepTime[]) {
  return render(
    <MantineProvider env="test">
      <StepTimeBreakdown workers={workers} />
    </MantineProvider>,
  );
}

it("names the worker that the others wait for", () => {
  show(worker(0), worker(1, { compute_s: 0.15, sync_s: 0.05, wait_s: 0, slowdown: 3, is_straggler: true }));
  screen.getByText("Worker 1 on n1 takes 3 times as long as the others to read and compute.");
  const [first, second] = within(screen.getByRole("list", { name: "A step on each worker" })).getAllByRole("listitem");
  expect(first?.textContent).toContain("Waiting for others 100 ms (50 %)");
  expect(second?.textContent).toContain("Straggler · 3 ×");
});

it("shows nothing of a single worker, and says when all are alike", () => {
  show(worker(0));
  expect(screen.queryByText("A step on each worker")).toBeNull();
  show(worker(0), worker(1));
  screen.getByText("All of them read and compute about equally fast.");
});

it("shows the slowest of a large gang, and all of them when asked", async () => {
  show(...Array.from({ length: 100 }, (_, rank) => worker(rank, { slowdown: rank / 50 })));
  const ranks = () => screen.getAllByRole("listitem").map((row) => Number.parseInt(row.textContent, 10));
  expect(ranks()).toHaveLength(24);
  expect(ranks()[0]).toBe(99);
  await userEvent.click(screen.getByRole("button", { name: "Show all 100 workers" }));
  expect(ranks()).toHaveLength(100);
  expect(ranks()[0]).toBe(0);
});
