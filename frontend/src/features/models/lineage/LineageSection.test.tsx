// SPDX-License-Identifier: Apache-2.0
// The lineage of a version: links from its data by its job to the jobs that used it, in columns.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Lineage } from "@/api/types";
import { dataset, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

import { layoutOf } from "./layout";

const OWN = modelVersion().id;
const JOB = { parent_id: null, number: null, job_kind: "train", state: "succeeded", kind: "job" as const };
const LINEAGE: Lineage = {
  version: OWN,
  nodes: [
    { id: OWN, kind: "model_version", name: "Small CNN", number: 1, parent_id: model().id, job_kind: "", state: "" },
    { id: "d", kind: "dataset_version", name: "Digits", number: 3, parent_id: dataset().id, job_kind: "", state: "" },
    { ...JOB, id: "j", name: "first" },
    { ...JOB, id: "p", name: "asked", job_kind: "predict" },
  ],
  edges: [
    { source: "d", target: "j" },
    { source: "j", target: OWN },
    { source: OWN, target: "p" },
  ],
  n_left_out: 2,
};

it("leads along the lineage from the page of a version", async () => {
  server.use(
    answers("/api/v1/models/{id}", model()),
    answers("/api/v1/models/{id}/versions", page([])),
    answers("/api/v1/model-versions/{id}", modelVersion()),
    answers("/api/v1/models/{id}/versions/{version}/lineage", LINEAGE),
  );
  renderPage(`/models/${model().id}`);
  const links = within(await screen.findByRole("list", { name: "Lineage" })).getAllByRole("link");
  expect(links.map((link) => [link.textContent, link.getAttribute("href")])).toEqual([
    ["Digits, version 3Data, leads to first", `/datasets/${dataset().id}?version=d`],
    ["firstTraining, succeeded, leads to Small CNN, version 1", "/jobs/j"],
    ["Small CNN, version 1Model, leads to asked", `/models/${model().id}?version=${OWN}`],
    ["askedPrediction, succeeded", "/jobs/p"],
  ]);
  expect(links[2]).toHaveAttribute("aria-current", "true");
  const frame = document.querySelector<HTMLElement>("[data-frame]");
  expect(frame?.scrollLeft).toBe(2 * 224 + 88); // the middle of this version, in a frame without width
  expect(screen.getByText("2 older jobs used it, too, and are not shown.")).toBeVisible();
});

it("puts each node after all that lead to it, and ends for a cycle", () => {
  const { places, nColumns, nRows } = layoutOf(LINEAGE);
  expect(["d", "j", OWN, "p"].map((id) => places.get(id)?.column)).toEqual([0, 1, 2, 3]);
  expect([nColumns, nRows]).toEqual([4, 1]);
  const [a, b] = LINEAGE.nodes.slice(2).map(({ id }) => id);
  const cycle = [{ source: a ?? "", target: b ?? "" }, { source: b ?? "", target: a ?? "" }];
  expect(layoutOf({ nodes: LINEAGE.nodes.slice(2), edges: cycle }).nColumns).toBeLessThanOrEqual(2);
});
