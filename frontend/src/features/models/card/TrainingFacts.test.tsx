// SPDX-License-Identifier: Apache-2.0
// What a version's page says of the model that a script trained.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("names the class of the model and the file that its weights are of", async () => {
  const metadata = { model_class: "sklearn SGDClassifier", file: "output/model.joblib", hyperparameters: {} };
  server.use(
    answers("/api/v1/models/{id}", model()),
    answers("/api/v1/models/{id}/versions", page([])),
    http.get("/api/v1/model-versions/:id", () => HttpResponse.json(modelVersion({ source: "training", metadata }))),
  );
  renderPage(`/models/${model().id}`);
  expect(await screen.findByText("sklearn SGDClassifier")).toBeVisible();
  expect(screen.getByText("output/model.joblib")).toBeVisible();
});
