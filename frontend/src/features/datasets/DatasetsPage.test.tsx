// SPDX-License-Identifier: Apache-2.0
// Uploading a dataset, and what inspection says of it.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it, vi } from "vitest";

import type { Dataset, DatasetVersion } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { dataset, datasetVersion, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const INSPECTING = datasetVersion({ state: "inspecting", schema: {}, preview: null, inspected_at: null });
const REFUSED = datasetVersion({
  state: "refused",
  schema: {},
  preview: null,
  error: {
    field: "target",
    message: "Row 12 has no value in the column label.",
    remedy: "Fill in the column label, or remove row 12.",
  },
});

function csv(): File {
  return new File(["pixel_0,label\n0.5,\n"], "digits.csv", { type: "text/csv" });
}

describe("Uploading a dataset", () => {
  it.each([
    [
      { is_running: false, n_before: 0, problem: "image: nowhere" },
      "Waiting for inspection",
      /tried again, since the platform could not do it: image: nowhere/,
    ],
    [
      { is_running: false, n_before: 3, problem: "" },
      "Waiting for inspection",
      /3 before it: uploads and dry runs of your org/,
    ],
    [{ is_running: false, n_before: 0, problem: "" }, "Waiting for inspection", /the next one of your organisation/],
    [{ is_running: true, n_before: 0, problem: "" }, "MLHub is reading the file", /checks every example/],
  ])("says how many come first: %o", async (queue, title, words) => {
    const version = datasetVersion({ ...INSPECTING, queue });
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ latest_version: version })),
      answers("/api/v1/datasets/{id}/versions", page([version])),
      answers("/api/v1/dataset-versions/{id}", version),
    );
    renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByText(title)).toBeVisible();
    expect(screen.getByText(words)).toBeVisible();
  });

  it("shows the refusal with its remedy as soon as inspection is over", async () => {
    let version: DatasetVersion = INSPECTING;
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () =>
        HttpResponse.json<Dataset>(dataset({ latest_version: INSPECTING }), { status: 201 }),
      ),
      http.get("/api/v1/datasets/:id", () => HttpResponse.json<Dataset>(dataset({ latest_version: version }))),
      http.get("/api/v1/datasets/:id/versions", () => HttpResponse.json(page<DatasetVersion>([version]))),
      http.get("/api/v1/dataset-versions/:id", () => HttpResponse.json<DatasetVersion>(version)),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    const file = await within(dialog).findByLabelText("Data file");
    expect(within(dialog).queryByLabelText("Target column")).not.toBeInTheDocument();
    await user.upload(file, csv());
    await user.type(within(dialog).getByLabelText("Target column"), "label");
    expect(within(dialog).getByLabelText("Name")).toHaveValue("digits");
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await screen.findByText("MLHub is reading the file")).toBeVisible();

    version = REFUSED;
    FakeEventSource.of("/api/v1/stream").emit("event", {
      id: 7,
      kind: "dataset.refused",
      subject_kind: "dataset_version",
      subject_id: REFUSED.id,
    });

    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("Row 12 has no value in the column label.");
    expect(alert).toHaveTextContent("Fill in the column label, or remove row 12.");
    expect(screen.queryByRole("link", { name: "Train on it" })).not.toBeInTheDocument();
  });

  it("takes a file without targets, to predict on, and then asks for no column", async () => {
    const appended = vi.spyOn(FormData.prototype, "append");
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () => problem(422, { title: "Refused", detail: "Too large." })),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.upload(await within(dialog).findByLabelText("Data file"), csv());
    await user.type(within(dialog).getByLabelText("Target column"), "kind");
    await user.click(within(dialog).getByRole("checkbox", { name: "It has no targets" }));
    expect(within(dialog).queryByLabelText("Target column")).not.toBeInTheDocument();
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await within(dialog).findByText(/Too large/)).toBeVisible();
    const sent = appended.mock.calls.map(([name, value]) => [name, value]);
    appended.mockRestore();
    expect(sent).toContainEqual(["targets", "none"]);
    expect(sent.map(([name]) => name)).not.toContain("target");
  });

  it("asks of a text how it becomes tokens, and sends only what was chosen", async () => {
    const appended = vi.spyOn(FormData.prototype, "append");
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () =>
        problem(422, {
          title: "Refused",
          detail: "Too long.",
          errors: [{ field: "context_length", message: "Too long.", remedy: "Give at most 8192." }],
        }),
      ),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.upload(await within(dialog).findByLabelText("Data file"), csv());
    expect(within(dialog).queryByLabelText("Tokens")).not.toBeInTheDocument();
    await user.upload(within(dialog).getByLabelText("Data file"), new File(["Once"], "tale.txt"));
    await user.selectOptions(await within(dialog).findByLabelText("Tokens"), "word");
    await user.type(within(dialog).getByLabelText("Vocabulary"), "500");
    await user.type(within(dialog).getByLabelText("Length of an example"), "128");
    await user.selectOptions(within(dialog).getByLabelText("Documents"), "lines");
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await within(dialog).findByText("Too long. Give at most 8192.")).toBeVisible();
    const fields = appended.mock.calls.filter(([name]) => name !== "file" && name !== "project");
    const sent = Object.fromEntries(fields) as Record<string, unknown>;
    appended.mockRestore();
    expect(sent).toEqual({
      name: "tale",
      tokenizer: "word",
      vocabulary_size: "500",
      context_length: "128",
      documents: "lines",
    });
  });

  it("recognises texts in JSON lines, and asks for their fields instead of documents", async () => {
    const appended = vi.spyOn(FormData.prototype, "append");
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () =>
        problem(422, {
          title: "Refused",
          detail: "No field.",
          errors: [{ field: "text_column", message: "There is no field body.", remedy: "Name one of: text." }],
        }),
      ),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    const table = new File(['{"text": "Fine.", "stars": 4}\n'], "table.jsonl");
    await user.upload(await within(dialog).findByLabelText("Data file"), table);
    expect(await within(dialog).findByLabelText("Target column")).toBeVisible();
    const texts = new File(['{"text": "Fine.", "label": "good"}\n'], "reviews.jsonl");
    await user.upload(within(dialog).getByLabelText("Data file"), texts);
    await user.type(await within(dialog).findByLabelText("Field of the text"), "body");
    await user.type(within(dialog).getByLabelText("Field of the label"), "label");
    expect(within(dialog).queryByLabelText("Documents")).not.toBeInTheDocument();
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await within(dialog).findByText("There is no field body. Name one of: text.")).toBeVisible();
    const fields = appended.mock.calls.filter(([name]) => name !== "file" && name !== "project");
    const sent = Object.fromEntries(fields) as Record<string, unknown>;
    appended.mockRestore();
    expect(sent).toEqual({ name: "reviews", format: "text_lines", target: "label", text_column: "body" });
  });

  it("asks of shards for the field of the class and for the size of the pictures", async () => {
    server.use(answers("/api/v1/datasets", page<Dataset>([])));
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.upload(await within(dialog).findByLabelText("Data file"), new File(["x"], "train-000.tar"));
    expect(await within(dialog).findByLabelText("Field of the class")).toBeVisible();
    expect(await within(dialog).findByLabelText(/size/i)).toBeVisible();
  });

  it("keeps what was typed and shows the API's words when the upload itself is refused", async () => {
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () =>
        problem(409, {
          title: "Name taken",
          code: "name_taken",
          detail: "There is already a dataset called digits in Vision.",
          remedy: "Choose another name.",
        }),
      ),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.upload(await within(dialog).findByLabelText("Data file"), csv());
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await within(dialog).findByRole("alert")).toHaveTextContent("Choose another name.");
    expect(within(dialog).getByText(/digits\.csv/)).toBeVisible();
  });

  it("says what is wrong with a field once, at the field", async () => {
    const message = "A dataset needs a name of at most 100 characters.";
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets", () =>
        problem(422, { title: "Refused", code: "invalid", detail: message, errors: [{ field: "name", message }] }),
      ),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.upload(await within(dialog).findByLabelText("Data file"), csv());
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await within(dialog).findAllByText(message)).toHaveLength(1);
    expect(within(dialog).queryByRole("alert")).not.toBeInTheDocument();
  });
});

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
});

describe("A dataset's page", () => {
  it("offers its deletion to who made it and to admins, not to every member", async () => {
    const maker = { id: "00000000-0000-7000-8000-0000000000c2", username: "grace" };
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ created_by: maker })),
      answers("/api/v1/datasets/{id}/versions", page([datasetVersion()])),
      answers("/api/v1/dataset-versions/{id}", datasetVersion()),
    );
    renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByRole("link", { name: "Train on it" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Delete" })).not.toBeInTheDocument();
  });

  it("shows what inspection found: counts, classes and a sample", async () => {
    server.use(
      answers("/api/v1/datasets/{id}", dataset()),
      answers("/api/v1/datasets/{id}/versions", page([datasetVersion()])),
      answers("/api/v1/dataset-versions/{id}", datasetVersion()),
    );
    renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByText("1,797")).toBeVisible();
    expect(within(screen.getByRole("region", { name: "Classes" })).getByText("2")).toBeVisible();
    const sample = screen.getByRole("table", { name: "Preview" });
    expect(within(sample).getByRole("columnheader", { name: "pixel_0" })).toBeVisible();
    expect(within(sample).getByRole("cell", { name: "7" })).toBeVisible();
  });

  it("offers viewers nothing that changes it", async () => {
    const { organisation } = dataset().project;
    server.use(
      answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation, role: "viewer" }] })),
      answers("/api/v1/datasets/{id}", dataset()),
      answers("/api/v1/datasets/{id}/versions", page([datasetVersion()])),
      answers("/api/v1/dataset-versions/{id}", datasetVersion()),
    );
    renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByRole("heading", { level: 1, name: "Digits" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Delete" })).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Upload a new version" })).not.toBeInTheDocument();
  });

  it("says why it cannot be deleted", async () => {
    server.use(
      answers("/api/v1/datasets/{id}", dataset()),
      answers("/api/v1/datasets/{id}/versions", page([datasetVersion()])),
      answers("/api/v1/dataset-versions/{id}", datasetVersion()),
      http.delete("/api/v1/datasets/:id", () =>
        problem(409, { code: "in_use", title: "In use", detail: "3 jobs use this dataset." }),
      ),
    );
    const { user } = renderPage(`/datasets/${dataset().id}`);
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Delete" }));
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("3 jobs use this dataset.");
  });

  it("deletes the version that is shown, after asking", async () => {
    const deleted: string[] = [];
    server.use(
      answers("/api/v1/datasets/{id}", dataset()),
      answers("/api/v1/datasets/{id}/versions", page([datasetVersion()])),
      answers("/api/v1/dataset-versions/{id}", datasetVersion()),
      http.delete("/api/v1/dataset-versions/:id", ({ params }) => {
        deleted.push(String(params.id));
        return new HttpResponse(null, { status: 204 });
      }),
    );
    const { user } = renderPage(`/datasets/${dataset().id}`);
    await user.click(await screen.findByRole("button", { name: "Delete this version" }));
    const dialog = await screen.findByRole("dialog", { name: "Delete this version?" });
    expect(deleted).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Delete this version" }));
    await expect.poll(() => deleted).toEqual([datasetVersion().id]);
  });
});
