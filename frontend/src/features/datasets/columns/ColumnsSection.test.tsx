// SPDX-License-Identifier: Apache-2.0
// The columns of a table on its dataset's page: described, chosen, and read otherwise, without another upload.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import { csvOfColumns } from "@/features/datasets/columns/csvOfColumns";
import { asTableStatistics } from "@/features/datasets/columns/statistics";
import { dataset, datasetVersion, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

describe("The columns of a table", () => {
  const TABLE = {
    kind: "table",
    n_rows: 200,
    problems: [],
    columns: [
      { name: "id", type: "identifier", role: "ignored", used_as: null, treatment: "Left out.", n_missing: 0, n_distinct: 200, examples: ["1"] },
      {
        name: "age", type: "number", role: "feature", used_as: "number", treatment: "In standard units.", n_missing: 50,
        n_distinct: 40, examples: ["31"], min: 18, max: 80, histogram: { edges: [18, 49, 80], counts: [90, 60] },
      },
      {
        name: "plan", type: "category", role: "feature", used_as: "category", treatment: "One input for each.", n_missing: 0,
        n_distinct: 2, examples: ["free"], top: [{ value: "free", n: 150 }, { value: "paid", n: 50 }],
      },
    ],
  };
  const WAITING = datasetVersion({
    state: "needs_columns",
    options: {},
    schema: {},
    statistics: {
      ...TABLE,
      problems: [
        {
          column: "",
          message: "It is not clear which column is to be predicted.",
          remedy: "Name the target: one of id, plan. To predict on it only, say targets=none.",
        },
        { column: "aeg", message: "There is no column 'aeg' to apply ignore to.", remedy: "There are: id, age, plan." },
      ],
    },
    error: { field: "target", message: "It is not clear.", remedy: "Name the target." },
  });

  it("say in which encoding a file is read that is not UTF-8", async () => {
    const read = datasetVersion({ statistics: { ...TABLE, encoding: "Windows-1252 (Western European)" } });
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ latest_version: read })),
      answers("/api/v1/datasets/{id}/versions", page([read])),
      answers("/api/v1/dataset-versions/{id}", read),
    );
    renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByText(/is read as Windows-1252 \(Western European\)/)).toBeVisible();
  });

  it("are all described, and chosen without another upload", async () => {
    const sent: unknown[] = [];
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ latest_version: WAITING })),
      answers("/api/v1/datasets/{id}/versions", page([WAITING])),
      answers("/api/v1/dataset-versions/{id}", WAITING),
      http.post("/api/v1/dataset-versions/:id/columns", async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json(WAITING);
      }),
    );
    const { user } = renderPage(`/datasets/${dataset().id}`);
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("It is not clear which column is to be predicted.");
    expect(alert).toHaveTextContent("Choose one under “Target column”: id, plan.");
    expect(alert).toHaveTextContent("upload it as a new version and tick “It has no targets”.");
    expect(alert).toHaveTextContent("There is no column 'aeg'");
    const table = screen.getByRole("table", { name: "Columns" });
    expect(within(table).getByRole("img", { name: "Histogram of age, from 18 to 80" })).toBeVisible();
    expect(within(table).getByText("paid")).toBeVisible();
    expect(screen.getByRole("button", { name: "Use these columns" })).toBeDisabled();

    await user.selectOptions(screen.getByLabelText("Target column"), "plan");
    expect(within(table).getByRole("row", { name: /^plan/ })).toHaveTextContent("What is to be predicted");
    await user.selectOptions(screen.getByLabelText("Use of id"), "Train or test part");
    await user.selectOptions(screen.getByLabelText("Use of age"), "ignore");
    await user.selectOptions(screen.getByLabelText("Missing values of age"), "drop");
    await user.click(screen.getByRole("button", { name: "Use these columns" }));
    await expect.poll(() => sent).toEqual([
      { target: "plan", ignore: ["age"], types: { id: "split" }, missing: { age: "drop" } },
    ]);
  });

  it("show how their numbers are read, and ask where the file does not show it", async () => {
    const column = { role: "feature", type: "number", used_as: "number", treatment: "Read.", n_missing: 0, n_distinct: 9, examples: [] };
    const asked = datasetVersion({
      state: "needs_columns",
      options: {},
      schema: {},
      statistics: {
        ...TABLE,
        problems: [{ column: "weight", message: "The numbers of weight can be read in two ways.", remedy: "Choose the number format." }],
        columns: [
          { ...column, name: "price", number_format: "comma", readings: { text: "625,72", point: null, comma: 625.72 } },
          { ...column, name: "weight", type: "identifier", number_format: null, readings: { text: "1,234", point: 1234, comma: 1.234 } },
          { ...column, name: "age" },
          { ...column, name: "label", role: "target" },
        ],
      },
    });
    const sent: unknown[] = [];
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ latest_version: asked })),
      answers("/api/v1/datasets/{id}/versions", page([asked])),
      answers("/api/v1/dataset-versions/{id}", asked),
      http.post("/api/v1/dataset-versions/:id/columns", async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json(asked);
      }),
    );
    const { user } = renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByLabelText("Number format of price")).toHaveDisplayValue("Numbers: 625,72 = 625.72");
    expect(screen.queryByLabelText("Number format of age")).not.toBeInTheDocument();
    const weight = screen.getByLabelText("Number format of weight");
    expect(weight).toHaveDisplayValue("Numbers: no format found");
    expect(within(weight).getAllByRole("option").map((option) => option.textContent)).toEqual([
      "Numbers: no format found", "Decimal comma: 1,234 = 1.234", "Decimal point: 1,234 = 1234",
    ]);
    await user.selectOptions(weight, "comma");
    await user.click(screen.getByRole("button", { name: "Use these columns" }));
    await expect.poll(() => sent).toEqual([{ target: "label", numbers: { weight: "comma" } }]);
  });

  it("are shown to viewers, who cannot choose", async () => {
    const { organisation } = dataset().project;
    const ready = datasetVersion({ statistics: TABLE });
    server.use(
      answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation, role: "viewer" }] })),
      answers("/api/v1/datasets/{id}", dataset({ latest_version: ready })),
      answers("/api/v1/datasets/{id}/versions", page([ready])),
      answers("/api/v1/dataset-versions/{id}", ready),
    );
    renderPage(`/datasets/${dataset().id}`);
    const table = await screen.findByRole("table", { name: "Columns" });
    expect(within(table).getAllByText("Learned from")).toHaveLength(2);
    expect(within(table).queryByRole("combobox")).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Use these columns" })).not.toBeInTheDocument();
  });

  it("can be taken along as numbers: a row for each bar that is drawn", () => {
    expect(csvOfColumns(asTableStatistics(TABLE)?.columns ?? []).trim().split("\r\n")).toEqual([
      "column,from,to,value,n",
      "age,18,49,,90",
      "age,49,80,,60",
      "plan,,,free,150",
      "plan,,,paid,50",
    ]);
  });
});
