// SPDX-License-Identifier: Apache-2.0
// The fields of a new job beyond data and model: how each is sent, and where it is refused.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { dataset, model, modelVersion } from "@/testing/fixtures";
import { BUILTIN, PRESELECTED, answerNewJob, created, submissions } from "@/testing/newJobAnswers";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

beforeEach(answerNewJob);

it("lets the scheduler choose the batch up to a largest one, which is a hyperparameter", async () => {
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(screen.getByRole("textbox", { name: "Batch size" }), "64");
  const largest = await screen.findByRole("textbox", { name: "Largest batch size" });
  await user.click(largest);
  await user.paste("32");
  expect(largest).toHaveAccessibleDescription(/At least the batch size, 64\./);
  await user.clear(largest);
  await user.paste("512");
  expect(screen.getByRole("textbox", { name: "Hyperparameters" })).toHaveValue('{"max_batch_size":512}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]?.body).toMatchObject({ batch_size: 64, hyperparameters: { max_batch_size: 512 } });
});

it("does not send hyperparameters that are no JSON object", async () => {
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const parameters = await screen.findByRole("textbox", { name: /Hyperparameters/ });
  await user.type(parameters, "lr = 0.1");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(parameters).toHaveAccessibleDescription(/not a JSON object/);
  expect(sent).toEqual([]);
  await user.clear(parameters);
  await user.type(parameters, '{{"lr": 0.1}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent[0]?.body.hyperparameters).toEqual({ lr: 0.1 });
});

it("asks for resources and limits in their units, and leaves out what is empty", async () => {
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: "Memory per worker (GiB)" }), "2.5");
  await user.type(screen.getByRole("textbox", { name: "Parameter servers" }), "3");
  await user.type(screen.getByRole("textbox", { name: "Stall limit (seconds)" }), "900");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body: { resources, limits } }) => ({ resources, limits }))).toEqual([
    { resources: { memory_gib: 2.5, n_servers: 3 }, limits: { stall_s: 900 } },
  ]);
});

it("refuses a resource out of bounds at its field, and shows there what the API says of one", async () => {
  const remedy = "Give at most 64.";
  const sent = submissions(() =>
    problem(422, {
      code: "invalid_input",
      title: "Invalid input",
      detail: "No node has 80 CPUs.",
      errors: [{ field: "resources.cpus", message: "No node has 80 CPUs.", remedy }],
    }),
  );
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const memory = await screen.findByRole("textbox", { name: "Memory per worker (GiB)" });
  await user.type(memory, "0.1");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(memory).toHaveAccessibleDescription(/From 0.5 to 4,096 GiB./);
  expect(sent).toEqual([]);
  await user.clear(memory);
  const cpus = screen.getByRole("textbox", { name: "CPUs per worker" });
  await user.type(cpus, "80");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.length).toBe(1);
  expect(await screen.findByText("No node has 80 CPUs. Give at most 64.")).toBeVisible();
  expect(cpus).toBeInvalid();
});

it("says where a former hyperparameter has gone, and sends it all the same", async () => {
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: /Hyperparameters/ }), '{{"memory_gib": 4}');
  expect(screen.getByRole("note")).toHaveTextContent(/^memory_gib is now resources.memory_gib \(Memory per worker, below\)/);
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body.hyperparameters)).toEqual([{ memory_gib: 4 }]);
});

it("names a strategy that the platform knows, says what it does, and sends its parameters", async () => {
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await screen.findByRole("option", { name: "Stochastic gradient push" });
  await user.selectOptions(screen.getByRole("combobox", { name: /Strategy/ }), "push_sum");
  expect(screen.getByText("Workers send one way only.")).toBeInTheDocument();
  await user.type(screen.getByRole("textbox", { name: /^Parameters/ }), '{{"n_peers": 2}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body.strategy)).toEqual([{ name: "push_sum", n_peers: 2 }]);
});

it("gives the job environment variables and secrets of the project, and refuses a line that is neither", async () => {
  const at = "2026-11-22T10:00:00Z";
  server.use(
    answers("/api/v1/projects/{id}/secrets", page([{ name: "HF_TOKEN", set_by: null, created_at: at, updated_at: at }])),
  );
  const sent = submissions(created);
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const variables = await screen.findByRole("textbox", { name: /Environment variables/ });
  await user.type(variables, "A=1=2{enter}B");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText('"B" is not NAME=value.')).toBeVisible();
  await user.type(variables, "=");
  await user.click(screen.getByRole("combobox", { name: /Secrets/ }));
  await user.click(await screen.findByRole("option", { name: "HF_TOKEN" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => [body.environment, body.secrets])).toEqual([[{ A: "1=2", B: "" }, ["HF_TOKEN"]]]);
});

it("sends the image that the workers shall run, and shows a refusal at its field", async () => {
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push(((await request.json()) as { image?: string }).image);
      const refusal = { field: "image", code: "invalid", message: "No job may bring an image of its own here.", remedy: "Leave image out." };
      return HttpResponse.json({ type: "about:blank", title: "Invalid", status: 422, detail: refusal.message, errors: [refusal] }, { status: 422 });
    }),
  );
  const { user } = renderPage(PRESELECTED);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: /Container image/ }), " registry.example.org/team/train:1.4 ");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("No job may bring an image of its own here. Leave image out.")).toBeVisible();
  expect(sent).toEqual(["registry.example.org/team/train:1.4"]);
});

it("starts a script without a dataset, with further ones by name", async () => {
  const sent = submissions(created);
  const script = model({ latest_version: modelVersion({ kind: "script" }) });
  server.use(answers("/api/v1/models", page([script, BUILTIN])));
  const { user } = renderPage(`/jobs/new?model=${script.id}`);
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  await user.click(await screen.findByRole("option", { name: "No dataset" }));
  await user.click(screen.getByRole("button", { name: "Advanced settings" }));
  await user.click(await screen.findByRole("button", { name: "Add a dataset" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("Give each a name and a dataset.")).toBeVisible();
  await user.type(screen.getByRole("textbox", { name: "Name of further dataset 1" }), "words");
  await user.click(screen.getByRole("combobox", { name: "Further dataset 1" }));
  await user.click(await screen.findByRole("option", { name: "Digits (Vision)" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body)).toEqual([
    { project: script.project?.id, model: script.id, mode: "auto", datasets: { words: dataset().id } },
  ]);
});

it("starts a script without a dataset and with the arguments of its command line", async () => {
  const sent = submissions(created);
  const script = model({ latest_version: modelVersion({ kind: "script" }) });
  server.use(answers("/api/v1/models", page([script, BUILTIN])));
  const { user } = renderPage(`/jobs/new?model=${script.id}`);
  await user.type(await screen.findByRole("textbox", { name: "Arguments" }), '--lr 0.1 --name "two');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("A quotation mark is not closed.")).toBeVisible();
  await user.type(screen.getByRole("textbox", { name: "Arguments" }), ' words"');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  const hyperparameters = { arguments: ["--lr", "0.1", "--name", "two words"] };
  await expect.poll(() => sent.map(({ body }) => body)).toEqual([
    { project: script.project?.id, model: script.id, mode: "auto", hyperparameters },
  ]);
});
