// SPDX-License-Identifier: Apache-2.0
// Studies: the list, a new one and what is wrong with it, and one study with its charts, trials and actions.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Study, Trial } from "@/api/types";
import { AT, dataset, me, model, VISION } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const ID = "00000000-0000-7000-8000-000000000051";
const JOB = "00000000-0000-7000-8000-0000000000f1";

function trial(number: number, values: number[], over: Partial<Trial> = {}): Trial {
  return {
    id: `00000000-0000-7000-8000-00000000006${number}`,
    number,
    parameters: { learning_rate: 0.01 * (number + 1), activation: number % 2 ? "relu" : "tanh" },
    status: "waiting",
    rung: values.length - 1,
    results: values.map((value, rung) => ({
      epochs: 3 ** rung,
      step: 10 * 3 ** rung,
      value,
      at: `2026-03-02T09:0${2 * number + rung}:00Z`,
      study_gpu_hours: 0.05 * (2 * number + rung + 1),
    })),
    job: JOB,
    epochs: 3 ** (values.length - 1),
    gpu_hours: 0.1,
    message: "",
    created_at: AT,
    ...over,
  };
}

const TRIALS = [trial(0, [0.5]), trial(1, [0.8, 0.9]), trial(2, [], { status: "failed", rung: 0, message: "It ran out of memory." })];

function study(over: Partial<Study> = {}): Study {
  return {
    id: ID,
    name: "rates",
    project: VISION,
    created_by: { id: me().id, username: "ada" },
    dataset_version: null,
    model_version: null,
    settings: {},
    space: { learning_rate: { log_uniform: [0.001, 0.1] }, activation: { choice: ["relu", "tanh"] } },
    metric: "eval/accuracy",
    direction: "maximize",
    algorithm: "asha",
    unit: "epochs",
    has_dataset: true,
    rungs: [1, 3],
    eta: 3,
    seed: 0,
    max_parallel: 4,
    max_trials: 9,
    max_epochs: null,
    max_gpu_hours: 2,
    state: "running",
    reason: "",
    problem: "",
    trials: { running: 0, waiting: 2, completed: 0, failed: 1, stopped: 0 },
    n_trials: 3,
    most_trials: 9,
    best: TRIALS[1] ?? null,
    epochs: 4,
    gpu_hours: 0.2,
    created_at: AT,
    finished_at: null,
    ...over,
  };
}

function serve(over: Partial<Study> = {}, trials: Trial[] = TRIALS) {
  server.use(
    answers("/api/v1/studies/{id}", study(over)),
    answers("/api/v1/studies/{id}/trials", trials),
    answers("/api/v1/studies/{id}/importance", {
      method: "By ranks.",
      epochs: 1,
      n_trials: 12,
      needed: 10,
      parameters: [{ name: "learning_rate", share: 0.62 }],
    }),
  );
}

function shown(over: Partial<Study> = {}, trials: Trial[] = TRIALS) {
  serve(over, trials);
  return renderPage(`/studies/${ID}`);
}

it("lists studies with their best, and offers the first one where there is none", async () => {
  server.use(answers("/api/v1/studies", page([study()])));
  const { unmount } = renderPage("/studies");
  expect(await screen.findByRole("link", { name: "rates" })).toHaveAttribute("href", `/studies/${ID}`);
  expect(screen.getByRole("cell", { name: "eval/accuracy 0.9" })).toBeVisible();
  expect(screen.getByRole("cell", { name: "3 of 9" })).toBeVisible();
  unmount();
  server.use(answers("/api/v1/studies", page([])));
  renderPage("/studies");
  expect(await screen.findByRole("link", { name: "Create a study" })).toHaveAttribute("href", "/studies/new");
});

it("shows the trials with the best first, their rungs, coordinates and what matters", async () => {
  shown();
  const table = await screen.findByRole("table", { name: "Trials" });
  const rows = within(table).getAllByRole("row").slice(1);
  expect(rows.map((row) => within(row).getAllByRole("cell")[0]?.textContent)).toEqual(["1 best", "0", "2"]);
  expect(within(table).getByText("It ran out of memory.")).toBeVisible();
  expect(within(table).getByRole("link", { name: "Job of trial 1" })).toHaveAttribute("href", `/jobs/${JOB}`);
  expect(screen.getByRole("img", { name: /2 trials at 1 epoch, 1 trial at 3 epochs/ })).toBeVisible();
  expect(screen.getByRole("img", { name: "2 trials over learning_rate, activation, eval/accuracy (first rung), eval/accuracy (last)." })).toBeVisible();
  expect(await screen.findByText("62 %")).toBeVisible();
  expect(screen.getByText("eval/accuracy 0.9, after 3 epochs")).toBeVisible();
});

it("pauses a study, and stops it after asking", async () => {
  const asked: string[] = [];
  const { user } = shown();
  server.use(
    http.post("/api/v1/studies/:id/:verb", ({ params }) => {
      asked.push(String(params.verb));
      return HttpResponse.json(study({ state: "paused" }));
    }),
  );
  await user.click(await screen.findByRole("button", { name: "Pause" }));
  await user.click(screen.getByRole("button", { name: "Stop study" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Stop study" }));
  expect(asked).toEqual(["pause", "stop"]);
});

it("says why a study ended and what keeps one from going on", async () => {
  shown({ state: "failed", reason: "No trial reports the metric eval/acuracy.", problem: "You have 1,000 jobs waiting." });
  expect(await screen.findByText("No trial reports the metric eval/acuracy.")).toBeVisible();
  expect(screen.getByText("You have 1,000 jobs waiting.")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Pause" })).toBeNull();
  expect(screen.getByRole("button", { name: "Delete study" })).toBeVisible();
});

it("says of a study that has ended that no trial reached the first rung, of one that goes on that none has yet", async () => {
  const none = [trial(0, [], { rung: 0, status: "failed" })];
  const { unmount } = shown({ state: "failed", best: null }, none);
  expect(await screen.findAllByText("No trial reached the first rung.")).toHaveLength(3);
  unmount();
  shown({ state: "running", best: null }, none);
  expect(await screen.findAllByText("No trial has reached the first rung yet.")).toHaveLength(3);
});

it("writes the titles of trials whole on a phone", async () => {
  shown();
  const table = await screen.findByRole("table", { name: "Trials" });
  expect(table.style.getPropertyValue("--title-width")).toBe("120px"); // Hyperparameters
});

it("creates a study by keyboard, and shows what is wrong with its space at the field", async () => {
  const bodies: unknown[] = [];
  const asked = new Set<string | null>();
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    http.get("/api/v1/models", ({ request }) => {
      asked.add(new URL(request.url).searchParams.get("ready"));
      return HttpResponse.json(page([model()]));
    }),
    http.post("/api/v1/studies", async ({ request }) => {
      bodies.push(await request.json());
      if (bodies.length === 1) {
        const error = { field: "space.learning_rate", message: "The search space has no points.", remedy: "Give the smaller end first." };
        return problem(422, { title: "Invalid", detail: error.message, errors: [error] });
      }
      return HttpResponse.json(study(), { status: 201 });
    }),
  );
  serve();
  const { user, router } = renderPage("/studies/new");
  await user.type(await screen.findByLabelText(/^Name/), "rates{Enter}");
  expect([...asked]).toEqual(["true"]); // models of trained weights alone cannot be trained
  expect(await screen.findByText(/has no points. Give the smaller end first/)).toBeVisible();
  expect(bodies[0]).toMatchObject({
    name: "rates",
    job: { dataset: dataset().id, model: model().id, epochs: 27 },
    metric: "eval/accuracy",
    algorithm: "asha",
    max_trials: 27,
  });
  await user.click(screen.getByRole("button", { name: "Create study" }));
  await screen.findAllByRole("heading", { name: "rates" });
  expect(router.state.location.pathname).toBe(`/studies/${ID}`);
});

it("says nothing of the length of trials that a script reports without epochs or steps", async () => {
  const without = (one: Trial) => ({ ...one, epochs: 0, results: one.results.map((result) => ({ ...result, epochs: 0 })) });
  const trials = [trial(0, [0.5]), trial(1, [0.9])].map(without);
  serve({ algorithm: "random", rungs: [60], best: trials[1] ?? null });
  server.use(answers("/api/v1/studies/{id}/trials", trials));
  renderPage(`/studies/${ID}`);
  expect(await screen.findByText("eval/accuracy 0.9")).toBeVisible();
  expect(await screen.findByText(/The newest improvement: trial 1 with 0.9\b(?!, after)/)).toBeVisible();
  expect(screen.getByRole("img", { name: /2 trials at the end/ })).toHaveTextContent("end · 2");
});

it("draws the best so far with the trial that brought it, over trials and over GPU-hours", async () => {
  const { user, router } = shown();
  expect(await screen.findByRole("img", { name: "Best eval/accuracy so far: 0.9, of trial 1, after 3 improvements." })).toBeVisible();
  expect(screen.getByText(/The newest improvement: trial 1 with 0.9, after 3 epochs/)).toBeVisible();
  await user.click(screen.getByRole("radio", { name: "GPU-hours" }));
  expect(router.state.location.search).toBe("?best=gpu_hours");
  expect(await screen.findByText("0.2")).toBeVisible(); // where the newest result is
});

it("adds to the budget of a study, and shows why that was refused", async () => {
  const bodies: unknown[] = [];
  const { user } = shown({ state: "completed", reason: "Its budget of 2 GPU-hours is used up." });
  server.use(
    http.post("/api/v1/studies/:id/extend", async ({ request }) => {
      bodies.push(await request.json());
      if (bodies.length === 1) return problem(409, { title: "Conflict", detail: "With this the study would end again at once.", remedy: "Add to what is used up, too." });
      return HttpResponse.json(study({ max_trials: 14, max_gpu_hours: 5 }));
    }),
  );
  await user.click(await screen.findByRole("button", { name: "Add to the budget" }));
  const dialogue = within(await screen.findByRole("dialog"));
  expect(dialogue.queryByLabelText("More epochs")).toBeNull(); // it has no such limit
  expect(dialogue.getByRole("button", { name: "Add" })).toBeDisabled();
  await user.type(dialogue.getByLabelText("More trials"), "5");
  expect(dialogue.getByText("3 used of 9, then of 14")).toBeVisible();
  await user.click(dialogue.getByRole("button", { name: "Add" }));
  expect(await dialogue.findByText(/would end again at once/)).toBeVisible();
  await user.type(dialogue.getByLabelText("More GPU-hours"), "3");
  await user.click(dialogue.getByRole("button", { name: "Add" }));
  await expect.poll(() => screen.queryByRole("dialog")).toBeNull();
  expect(bodies).toEqual([{ trials: 5 }, { trials: 5, gpu_hours: 3 }]);
});

it("offers no addition to a study that was stopped, and no action to who may not steer it", async () => {
  shown({ state: "stopped", reason: "ada stopped it." });
  expect(await screen.findByRole("link", { name: "Clone with changes" })).toHaveAttribute("href", `/studies/new?clone=${ID}`);
  expect(screen.queryByRole("button", { name: "Add to the budget" })).toBeNull();
});

it("clones a study with changes: everything is filled in, and the same versions are taken", async () => {
  const bodies: unknown[] = [];
  const versions = { dataset_version: "00000000-0000-7000-8000-0000000000d1", model_version: "00000000-0000-7000-8000-0000000000e1" };
  serve({
    settings: { epochs: 9, priority: -50, batch_size: 32, max_batch_size: null, hyperparameters: { dropout: 0.1 } },
    space: { learning_rate: { log_uniform: [1e-7, 0.1], points: null }, activation: { choice: ["relu", "tanh"] } },
    dataset_version: { id: versions.dataset_version, number: 1, dataset: { id: dataset().id, name: dataset().name } },
    model_version: { id: versions.model_version, number: 1, model: { id: model().id, name: model().name }, kind: "builtin" },
    max_epochs: 60,
    seed: 7,
  });
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([model()])),
    http.post("/api/v1/studies", async ({ request }) => {
      bodies.push(await request.json());
      return HttpResponse.json(study(), { status: 201 });
    }),
  );
  const { user } = renderPage(`/studies/new?clone=${ID}`);
  expect(await screen.findByText(/A clone of rates, with the same versions/)).toBeVisible();
  expect(screen.getByLabelText(/Search space/)).toHaveValue("learning_rate: {log_uniform: [1.0e-7, 0.1]}\nactivation: {choice: [\"relu\", \"tanh\"]}\n");
  const trials = screen.getByLabelText(/Trials at most/);
  await user.clear(trials);
  await user.type(trials, "18");
  await user.click(screen.getByRole("button", { name: "Create study" }));
  await expect.poll(() => bodies.length).toBe(1);
  expect(bodies[0]).toMatchObject({
    name: "rates",
    job: { ...versions, project: VISION.id, epochs: 9, priority: -50, batch_size: 32, hyperparameters: { dropout: 0.1 } },
    min_epochs: 1,
    eta: 3,
    seed: 7,
    max_trials: 18,
    max_epochs: 60,
    max_gpu_hours: 2,
  });
});
