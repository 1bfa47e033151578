// SPDX-License-Identifier: Apache-2.0
// What used a version of a dataset, asked for when the part is opened.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { dataset, datasetVersion, job, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("lists the jobs with how they read it, the studies, and what was trained", async () => {
  const version = datasetVersion();
  const words = { name: "words", dataset: { id: dataset().id, name: "Digits" }, version: version.id, number: 1 };
  const asked: (string | null)[] = [];
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: version })),
    answers("/api/v1/datasets/{id}/versions", page([version])),
    answers("/api/v1/dataset-versions/{id}", version),
    http.get("/api/v1/jobs", ({ request }) => {
      asked.push(new URL(request.url).searchParams.get("dataset_version"));
      return HttpResponse.json(page([job({ name: "counting", dataset_version: null, datasets: [words] })]) as object);
    }),
    answers("/api/v1/studies", page([])),
    answers("/api/v1/dataset-versions/{id}/trained", page([modelVersion({ number: 7 })])),
  );
  const { user } = renderPage(`/datasets/${dataset().id}`);
  await user.click(await screen.findByRole("button", { name: "Show what used this version" }));
  const uses = screen.getByRole("region", { name: "Used by" });
  const row = (await within(uses).findByRole("link", { name: "counting" })).closest("tr");
  expect(row).toHaveTextContent("words");
  expect(asked).toEqual([version.id]);
  expect(await within(uses).findByText("No study searches on this version.")).toBeVisible();
  expect(await within(uses).findByRole("link", { name: / v7$/ })).toBeVisible();
});
