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
