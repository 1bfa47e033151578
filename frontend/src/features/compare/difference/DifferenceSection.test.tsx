// SPDX-License-Identifier: Apache-2.0
// Two compared jobs: their settings side by side, and their code as diffs.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { JobDifference } from "@/api/types";
import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { page, server } from "@/testing/server";

const JOBS = [job({ id: "a", name: "slow" }), job({ id: "b", name: "fast" }), job({ id: "c", name: "third" })];
const DIFFERENCE: JobDifference = {
  settings: [{ name: "hyperparameters.lr", before: 0.001, after: null }],
  code: {
    files: [
      { path: "model.py", change: "changed", diff: "@@ -1 +1 @@\n-WIDTH = 8\n+WIDTH = 16\n", note: "" },
      { path: "data.bin", change: "added", diff: "", note: "It is no text." },
    ],
    n_left_out: 3,
    note: "",
  },
};

function serve() {
  const asked: string[] = [];
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      const ids = new URL(request.url).searchParams.get("id")?.split(",") ?? [];
      return HttpResponse.json(page(JOBS.filter(({ id }) => ids.includes(id))));
    }),
    http.post("/api/v1/jobs/compare/metrics", () => HttpResponse.json({ metrics: [], n_metrics: 0 })),
    http.get("/api/v1/jobs/:id/difference", ({ request, params }) => {
      asked.push(`${String(params.id)} to ${new URL(request.url).searchParams.get("to") ?? ""}`);
      return HttpResponse.json(DIFFERENCE);
    }),
  );
  return asked;
}

it("shows what differs from the first of two jobs to the second, code as a diff", async () => {
  const asked = serve();
  const { user } = renderPage("/compare?jobs=b,a");
  const section = within(await screen.findByRole("region", { name: "From fast to slow" }));
  const row = await section.findByRole("row", { name: /hyperparameters.lr/ });
  expect(within(row).getAllByRole("cell").map(({ textContent }) => textContent)).toEqual(["0.001", "–"]);
  expect(asked).toEqual(["b to a"]);
  expect(section.queryByText("+WIDTH = 16")).not.toBeInTheDocument();
  await user.click(section.getByText("model.py"));
  expect(await section.findByText("+WIDTH = 16")).toBeInTheDocument();
  expect(section.getByText("3 more files differ.")).toBeVisible();
});

it("is not there for three jobs", async () => {
  const asked = serve();
  renderPage("/compare?jobs=a,b,c");
  await screen.findByRole("table", { name: "What differs" });
  expect(screen.queryByRole("region", { name: /^From/ })).not.toBeInTheDocument();
  expect(asked).toEqual([]);
});
