// SPDX-License-Identifier: Apache-2.0
// What another person deleted is not shown from memory when it is read again.
import { screen, within } from "@testing-library/react";
import { http } from "msw";
import { expect, it } from "vitest";

import { jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

it("shows that a job is gone, and nothing of it, once its page reads it again", async () => {
  const detail = jobDetail({ state: "succeeded" });
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/events", page([])),
  );
  const { queries } = renderPage(`/jobs/${detail.id}`);
  expect(await screen.findByRole("heading", { name: detail.name, level: 1 })).toBeVisible();
  const gone = { title: "Not found", detail: "There is nothing here that you may see." };
  server.use(http.get("/api/v1/jobs/:id", () => problem(404, gone)));
  await queries.invalidateQueries({ queryKey: ["job", detail.id] });
  expect(await screen.findByText("There is nothing here that you may see.")).toBeVisible();
  expect(screen.queryByText(detail.name)).not.toBeInTheDocument();
  expect(within(screen.getByRole("main")).getByRole("link", { name: "Jobs" })).toBeVisible(); // the way back
});
