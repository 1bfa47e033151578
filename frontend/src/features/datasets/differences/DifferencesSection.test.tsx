// SPDX-License-Identifier: Apache-2.0
// Two versions of a dataset: the other one is chosen, and what differs is shown with both sides.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { VersionDifference } from "@/api/types";
import { dataset, datasetVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const [NEW, OLD] = [datasetVersion({ number: 2 }), datasetVersion({ id: "00000000-0000-7000-8000-0000000000d9", number: 1 })];
const AGE = { name: "age", type: "number", n_missing: 4, n_distinct: 9, examples: ["1"] };
const DIFFERENCE: VersionDifference = {
  is_same_content: false,
  facts: [{ name: "n_rows", before: 40, after: 1050 }, { name: "size_bytes", before: 2048, after: null }],
  columns: [
    { name: "age", change: "changed", differs: ["type"], before: AGE, after: { ...AGE, type: "text" } },
    { name: "town", change: "added", differs: [], before: null, after: { ...AGE, name: "town" } },
  ],
  n_columns_left_out: 3,
  classes: [{ name: "cat", change: "removed", before: 12, after: null }],
  n_classes_left_out: 0,
  files: [{ path: "a/1.png", change: "changed", size_before: 1024, size_after: 2048 }],
  n_files_left_out: 0,
  file_counts: { n_added: 0, n_removed: 0, n_changed: 1, n_same: 7 },
  notes: ["Rows are counted, not compared one by one."],
};

it("shows what differs from a version that is chosen, and what cannot be told", async () => {
  const asked: string[] = [];
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: NEW })),
    answers("/api/v1/datasets/{id}/versions", page([NEW, OLD])),
    answers("/api/v1/dataset-versions/{id}", NEW),
    http.get("/api/v1/dataset-versions/:id/difference", ({ params, request }) => {
      asked.push(`${String(params.id)} to ${new URL(request.url).searchParams.get("to") ?? ""}`);
      return HttpResponse.json(DIFFERENCE as object);
    }),
  );
  const { user, router } = renderPage(`/datasets/${dataset().id}`);
  const section = within(await screen.findByRole("region", { name: "Differences" }));
  await user.selectOptions(section.getByLabelText("What differs in version 2 from"), "Version 1");
  const rows = await section.findByRole("row", { name: /Rows/ });
  expect(within(rows).getAllByRole("cell").map(({ textContent }) => textContent)).toEqual(["40", "1,050"]);
  expect(asked).toEqual([`${OLD.id} to ${NEW.id}`]);
  expect(router.state.location.search).toContain(`from=${OLD.id}`);
  const age = within(section.getByRole("table", { name: "Columns that differ" })).getByRole("row", { name: /age/ });
  expect(age).toHaveTextContent(/changed.*number · 10 % missing.*text/);
  expect(section.getByText("and 3 more.")).toBeVisible();
  expect(section.getByRole("row", { name: /cat 12 –/ })).toBeVisible();
  expect(section.getByText(/0 added, 0 removed, 1 changed, 7 the same/)).toBeVisible();
  expect(section.getByText("Rows are counted, not compared one by one.")).toBeVisible();
});

it("is not there for a dataset of one version", async () => {
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: NEW })),
    answers("/api/v1/datasets/{id}/versions", page([NEW])),
    answers("/api/v1/dataset-versions/{id}", NEW),
  );
  renderPage(`/datasets/${dataset().id}`);
  await screen.findByRole("region", { name: "Used by" });
  expect(screen.queryByRole("region", { name: "Differences" })).not.toBeInTheDocument();
});
