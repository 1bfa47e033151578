// SPDX-License-Identifier: Apache-2.0
// Cloning a job: the form is filled in with its settings, and nothing starts before it is sent.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { dataset, job, jobDetail, model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const STORED = jobDetail({
  state: "succeeded",
  hyperparameters: { lr: 0.01 },
  strategy: { name: "ssp", staleness: 3 },
  resources: { cpus: 2 },
  environment: { TOKENIZERS: "false" },
  secrets: ["TOKEN"],
  image: "registry.example.org/team/train:1.4",
  target_metric: "eval/accuracy",
  target_value: 0.9,
});

it("fills the form in, and sends the settings with what was changed or emptied", async () => {
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([model()])),
    answers("/api/v1/strategies", []),
    answers("/api/v1/jobs/{id}", STORED),
    http.post("/api/v1/jobs/:id/clone", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(job({ id: "made" }) as object, { status: 201 });
    }),
  );
  const { user, router } = renderPage(`/jobs/${job().id}`);
  await user.click(await screen.findByRole("link", { name: "Clone" }));
  expect(await screen.findByText(/A clone of digits-cnn, with the same versions of data and model/)).toBeVisible();
  expect(sent).toEqual([]);
  const epochs = screen.getByRole("textbox", { name: "Epochs" });
  expect(epochs).toHaveValue("5");
  await user.clear(epochs);
  await user.type(epochs, "7");
  await user.clear(await screen.findByRole("textbox", { name: /Hyperparameters/ }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe("/jobs/made");
  await expect.poll(() => sent).toHaveLength(1);
  expect(sent[0]).not.toHaveProperty("dataset_version");
  expect(sent[0]).not.toHaveProperty("model_version");
  expect(sent[0]).toMatchObject({
    epochs: 7,
    hyperparameters: {},
    strategy: { name: "ssp", staleness: 3 },
    resources: { cpus: 2 },
    environment: { TOKENIZERS: "false" },
    secrets: ["TOKEN"],
    image: "registry.example.org/team/train:1.4",
    target_metric: "eval/accuracy",
    target_value: 0.9,
  });
});

it("is written as a file with the versions that it keeps", async () => {
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([model()])),
    answers("/api/v1/strategies", []),
    answers("/api/v1/jobs/{id}", STORED),
  );
  const { user } = renderPage(`/jobs/new?clone=${STORED.id}`);
  await user.click(await screen.findByRole("radio", { name: "YAML" }));
  const file = await screen.findByLabelText<HTMLTextAreaElement>("Job file (YAML)");
  expect(file.value).toContain(`dataset_version: ${STORED.dataset_version?.id}\nmodel_version: ${STORED.model_version.id}\n`);
  expect(file.value).toContain("environment:\n  TOKENIZERS: 'false'\nsecrets:\n  - TOKEN\n");
});
