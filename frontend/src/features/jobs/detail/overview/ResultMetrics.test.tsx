// SPDX-License-Identifier: Apache-2.0
// A result's metrics: single numbers as facts, a confusion matrix as one table.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("shows a confusion matrix as a table, and not cell by cell among the metrics", async () => {
  const metrics = {
    "eval/f1_macro": 0.875,
    "eval/confusion/cat/cat": 7,
    "eval/confusion/cat/dog": 1,
    "eval/confusion/dog/cat": 2,
    "eval/confusion/dog/dog": 12,
  };
  const detail = jobDetail({ state: "succeeded", result_version: "00000000-0000-7000-8000-0000000000aa", result_metrics: metrics });
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/events", page([])),
  );
  renderPage(`/jobs/${job().id}`);
  const result = within(await screen.findByRole("region", { name: "Result" }));
  expect(result.getByText("0.875")).toBeInTheDocument();
  expect(result.queryByText("eval/confusion/cat/dog")).not.toBeInTheDocument();
  const rows = within(result.getByRole("table", { name: "Confusion matrix" })).getAllByRole("row");
  expect(rows.map((row) => row.textContent)).toEqual(["Classas catas dog", "cat71", "dog212"]);
});
