// SPDX-License-Identifier: Apache-2.0
// Starting a job: little to fill in, errors where they belong, retries without doubles.
import { cleanup, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { dataset, datasetVersion, job, model } from "@/testing/fixtures";
import { BUILTIN, PRESELECTED, answerNewJob, created, submissions } from "@/testing/newJobAnswers";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

beforeEach(answerNewJob);

it("starts a job from a dataset and a built-in model alone, and leaves the rest to MLHub", async () => {
  const sent = submissions(created);
  const { user, router } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([{ dataset: dataset().id, model: BUILTIN.id, mode: "auto" }]);
});

it("starts a job with a number of epochs, and goes to it", async () => {
  const sent = submissions(created);
  const { user, router } = renderPage("/jobs/new");
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  await user.click(await screen.findByRole("option", { name: "Digits (Vision)" }));
  await user.click(screen.getByRole("combobox", { name: /Model/ }));
  await user.click(await screen.findByRole("option", { name: "MLP" }));
  const epochs = screen.getByRole("textbox", { name: /Epochs/ });
  await user.type(epochs, "7");
  expect(screen.getByText(/In the project Acme \/ Vision/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([
    { dataset: dataset().id, model: BUILTIN.id, epochs: 7, mode: "auto" },
  ]);
});

it("takes the built-in model for the data that one came with, and offers none that cannot be trained on it", async () => {
  const fitting = model({ id: "00000000-0000-7000-8000-0000000000ea", name: "mlp", project: null });
  const other = model({ id: "00000000-0000-7000-8000-0000000000eb", name: "tiny_transformer", project: null });
  const found = dataset({ latest_version: datasetVersion({ builtin_models: ["mlp"] }) });
  server.use(answers("/api/v1/datasets", page([found])), answers("/api/v1/models", page([other, model(), fitting])));
  const sent = submissions(created);
  const { user, router } = renderPage(`/jobs/new?dataset=${dataset().id}`);
  await screen.findByDisplayValue("mlp");
  const chosen = screen.getByRole("combobox", { name: /Model/ });
  expect(chosen).toHaveAccessibleDescription(/The built-in model for such data/);
  await user.click(chosen);
  expect((await screen.findAllByRole("option")).map(({ textContent }) => textContent)).toEqual(["Small CNN", "mlp"]);
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([{ dataset: dataset().id, model: fitting.id, mode: "auto" }]);
});

it("shows what the API refuses at its field, with the remedy, also among the advanced ones", async () => {
  submissions(() =>
    problem(422, {
      code: "invalid_input",
      title: "Invalid input",
      detail: "Acme may never use more than 4 GPUs.",
      errors: [
        { field: "max_workers", message: "Acme may never use more than 4 GPUs.", remedy: "Ask for at most 4 workers." },
        { field: "batch_size", message: "More than the data set has examples.", remedy: "Take at most 1,797." },
      ],
    }),
  );
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Start job" }));
  const most = await screen.findByRole("textbox", { name: "Most workers" });
  expect(most).toHaveAccessibleDescription(/never use more than 4 GPUs. Ask for at most 4 workers./);
  expect(most).toBeInvalid();
  expect(screen.getByRole("textbox", { name: /Batch size/ })).toHaveAccessibleDescription(/Take at most 1,797./);
  await user.type(most, "4");
  expect(most).not.toHaveAccessibleDescription(/never use/);
});

it("repeats the same request under the same key, and a corrected one under another", async () => {
  const sent = submissions(
    () => HttpResponse.error(),
    () => problem(409, { title: "Not ready", detail: "The data set is being inspected.", remedy: "Wait a moment." }),
    created,
  );
  const { user } = renderPage(PRESELECTED);
  const start = await screen.findByRole("button", { name: "Start job" });
  await user.click(start);
  expect(await screen.findByText(/did not answer/)).toBeInTheDocument();
  await user.click(start);
  expect(await screen.findByText("Wait a moment.")).toBeInTheDocument();
  await user.type(screen.getByRole("textbox", { name: /Epochs/ }), "5");
  await user.click(start);
  await expect.poll(() => sent.length).toBe(3);
  const [first, second, third] = sent.map(({ key }) => key);
  expect(first).toMatch(/.{16}/);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

it("offers only data that is ready, and says where to get some", async () => {
  const inspecting = dataset({ latest_version: datasetVersion({ state: "inspecting" }) });
  server.use(answers("/api/v1/datasets", page([inspecting])));
  const { user } = renderPage(PRESELECTED);
  expect(await screen.findByText(/No dataset is ready yet/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(screen.getByText("Choose a dataset.")).toBeInTheDocument();
});

it("says before the job is submitted that the model cannot be trained on the dataset", async () => {
  const errors = [{ field: "model", code: "invalid", message: "text_cnn is trained on texts with classes.", remedy: "Use mlp." }];
  const problem = { type: "about:blank", title: "Unprocessable", status: 422, code: "invalid", detail: "", errors };
  server.use(http.post("/api/v1/jobs/preview", () => HttpResponse.json(problem, { status: 422 })));
  renderPage(PRESELECTED);
  expect(await screen.findByRole("alert")).toHaveTextContent("text_cnn is trained on texts with classes. Use mlp.");
});

it("offers no job without a dataset for models that read one", async () => {
  const { user } = renderPage(`/jobs/new?model=${BUILTIN.id}`);
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  expect(await screen.findByRole("option", { name: "Digits (Vision)" })).toBeVisible();
  expect(screen.queryByRole("option", { name: "No dataset" })).toBeNull();
});

it("takes the built-in model that the address names, also when the list offers it no more", async () => {
  const far = model({ id: "00000000-0000-7000-8000-0000000000ea", name: "Far", project: null });
  server.use(answers("/api/v1/models/{id}", far));
  renderPage(`/jobs/new?model=${BUILTIN.id}`);
  expect(await screen.findByRole("combobox", { name: /Model/ })).toHaveValue("MLP");
  cleanup();
  renderPage(`/jobs/new?model=${far.id}`);
  await waitFor(() => expect(screen.getByRole("combobox", { name: /Model/ })).toHaveValue("Far"));
});

it("stays a form where datasets cannot be read, says so, and offers to read them again", async () => {
  server.use(http.get("/api/v1/datasets", () => problem(500, { code: "internal", title: "It broke" })));
  renderPage(`/jobs/new?model=${BUILTIN.id}`);
  expect(await screen.findByRole("textbox", { name: /Epochs/ })).toBeVisible();
  expect(await screen.findByRole("alert")).toHaveTextContent("It broke");
  expect(screen.getByRole("button", { name: "Try again" })).toBeVisible();
  expect(screen.getByRole("radio", { name: "YAML" })).toBeInTheDocument();
});
