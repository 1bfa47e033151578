// SPDX-License-Identifier: Apache-2.0
// Trying a trained model out: a form of its columns, the answer as bars, and what is wrong at its field.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { ModelVersion } from "@/api/types";
import { dataset, datasetVersion, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const SCHEMA = {
  task: "classification",
  classes: ["a", "b"],
  columns: [
    { name: "length", kind: "number", mean: 2, std: 1 },
    { name: "colour", kind: "category", categories: ["red", "blue"] },
  ],
};
const ORDINARY = {
  ...SCHEMA,
  columns: [
    { name: "joined", kind: "date", from: "word", format: "%d/%m/%Y", mean: 18000, std: 9, has_time: false, indicator: false },
    { name: "seen", kind: "date", from: "date", mean: 18000, std: 9, has_time: true, indicator: true },
    { name: "city", kind: "category", from: "word", categories: ["Oslo", "Rome"], indicator: true, other: true },
    { name: "age", kind: "number", from: "word", mean: 41, std: 9, indicator: false },
    { name: "price", kind: "number", from: "word", number_format: "comma", mean: 41, std: 9, indicator: false },
    { name: "notes", kind: "text", from: "word", words: ["late", "paid"], idf: [1, 2], length: 9, indicator: true },
  ],
};
const STATISTICS = {
  kind: "table",
  n_rows: 60,
  columns: [
    { name: "customer_id", type: "identifier", role: "ignored", min: 1000, max: 1059 },
    { name: "joined", type: "date", role: "feature", first: "2020-01-01T00:00:00", last: "2023-12-28T00:00:00" },
    { name: "age", type: "number", role: "feature", min: 18, max: 80 },
  ],
};
const TRAINED = modelVersion({
  number: 2,
  source: "training",
  dataset_version: { id: datasetVersion().id, number: 1, dataset: { id: dataset().id, name: "Flowers" } },
  downloads: { weights: "/w", package: null, metadata: "/m", export: "/e" },
});

/** The page of a model that was trained on a table. */
const TABLE_MODEL = [
  answers("/api/v1/models/{id}", model({ latest_version: TRAINED })),
  answers("/api/v1/models/{id}/versions", page<ModelVersion>([TRAINED])),
  answers("/api/v1/model-versions/{id}", TRAINED),
  answers("/api/v1/dataset-versions/{id}", datasetVersion({ schema: SCHEMA })),
];

it("asks for the columns, shows the probabilities, and a wrong value at its column", async () => {
  const sent: unknown[] = [];
  server.use(
    ...TABLE_MODEL,
    http.post("/api/v1/models/:id/versions/2/predict", async ({ request }) => {
      const body = (await request.json()) as { rows: { length: string }[] };
      sent.push(body.rows[0]);
      if (body.rows[0]?.length === "long") {
        const error = { field: "length", message: "It is no number.", remedy: "Give a number." };
        return problem(422, { detail: error.message, errors: [error] });
      }
      return HttpResponse.json({ predictions: [{ prediction: "b", probabilities: { a: 0.25, b: 0.75 } }] });
    }),
  );
  const { user } = renderPage(`/models/${model().id}`);
  const form = await screen.findByRole("region", { name: "Try it" });
  const notes = await screen.findByRole("region", { name: "Notes" });
  expect(form.compareDocumentPosition(notes)).toBe(Node.DOCUMENT_POSITION_FOLLOWING); // it is what people come for
  await user.type(await within(form).findByLabelText("length"), "3.5");
  await user.selectOptions(within(form).getByLabelText("colour"), "blue");
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  const shown = await within(form).findByRole("status", { name: "Prediction" });
  expect(sent).toEqual([{ length: "3.5", colour: "blue" }]);
  const bars = within(shown).getAllByRole("listitem");
  expect(bars.map((bar) => bar.textContent)).toEqual(["b75.0 %", "a25.0 %"]);

  await user.clear(within(form).getByLabelText("length"));
  await user.type(within(form).getByLabelText("length"), "long");
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  expect(await within(form).findByText("It is no number. Give a number.")).toBeVisible();
  expect(within(form).queryByRole("alert")).not.toBeInTheDocument();
});

it("asks for dates by their own fields, takes missing values, and leaves out what the model does not use", async () => {
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/models/{id}", model({ latest_version: TRAINED })),
    answers("/api/v1/models/{id}/versions", page<ModelVersion>([TRAINED])),
    answers("/api/v1/model-versions/{id}", TRAINED),
    answers("/api/v1/dataset-versions/{id}", datasetVersion({ schema: ORDINARY, statistics: STATISTICS })),
    http.post("/api/v1/models/:id/versions/2/predict", async ({ request }) => {
      const body = (await request.json()) as { rows: unknown[] };
      sent.push(body.rows[0]);
      return HttpResponse.json({ predictions: [{ prediction: "b", probabilities: { a: 0.25, b: 0.75 } }] });
    }),
  );
  const { user } = renderPage(`/models/${model().id}`);
  const form = await screen.findByRole("region", { name: "Try it" });
  const joined = await within(form).findByLabelText("joined");
  expect(joined).toHaveAttribute("type", "date");
  expect(within(form).getByLabelText("seen")).toHaveAttribute("type", "datetime-local");
  expect(within(form).queryByLabelText("customer_id")).not.toBeInTheDocument();
  expect(within(form).getByText("2020-01-01 to 2023-12-28 in the dataset. Empty: the mean.")).toBeVisible();
  expect(within(form).getByText("18 to 80 in the dataset. Empty or no number: the mean, 41.")).toBeVisible();
  await user.type(joined, "2021-03-02");
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  await within(form).findByRole("status", { name: "Prediction" });
  await user.selectOptions(within(form).getByLabelText("city"), "(missing)");
  await user.type(within(form).getByLabelText("age"), "33");
  expect(within(form).getByLabelText("price")).toHaveAccessibleDescription(/As the dataset writes it: 1\.234,56\./);
  await user.type(within(form).getByLabelText("price"), "1.234,5");
  expect(within(form).getByText("The model knows 2 words; it skips others.")).toBeVisible();
  await user.type(within(form).getByRole("textbox", { name: "notes" }), "paid late");
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  await waitFor(() => expect(sent).toHaveLength(2));
  expect(sent).toEqual([
    { joined: "2021-03-02", seen: null, city: "Oslo", age: null, price: null, notes: null },
    { joined: "2021-03-02", seen: null, city: null, age: "33", price: "1.234,5", notes: "paid late" },
  ]);
});

it("sends the word that is typed for another category, and says which words training did not see", async () => {
  const sent: unknown[] = [];
  server.use(
    ...TABLE_MODEL,
    http.post("/api/v1/models/:id/versions/2/predict", async ({ request }) => {
      const body = (await request.json()) as { rows: { colour: string }[] };
      sent.push(body.rows[0]);
      const answer = { prediction: "b", probabilities: { a: 0.25, b: 0.75 } };
      return HttpResponse.json({ predictions: [{ ...answer, ...(body.rows[0]?.colour === "other" && { unseen: { colour: "other" } }) }] });
    }),
  );
  const { user } = renderPage(`/models/${model().id}`);
  const form = await screen.findByRole("region", { name: "Try it" });
  await user.selectOptions(await within(form).findByLabelText("colour"), "(another category)");
  await user.type(within(form).getByRole("textbox", { name: "colour, another category" }), "other");
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  const said = "The column colour holds “other”, which training did not see: it counts as none of the categories that the model knows.";
  expect(await within(form).findByText(said)).toBeVisible();
  await user.selectOptions(within(form).getByLabelText("colour"), "blue");
  expect(within(form).queryByRole("textbox", { name: "colour, another category" })).not.toBeInTheDocument();
  await user.click(within(form).getByRole("button", { name: "Predict" }));
  await waitFor(() => expect(within(form).queryByText(said)).not.toBeInTheDocument());
  expect(sent).toEqual([{ length: null, colour: "other" }, { length: null, colour: "blue" }]);
});

it("sends a clip as it is to a model of audio", async () => {
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/models/{id}", model({ latest_version: TRAINED })),
    answers("/api/v1/models/{id}/versions", page<ModelVersion>([TRAINED])),
    answers("/api/v1/model-versions/{id}", TRAINED),
    answers("/api/v1/dataset-versions/{id}", datasetVersion({ format: "audio_folder", schema: { input_shape: [1, 1600], sample_rate: 8000 } })),
    http.post("/api/v1/models/:id/versions/2/predict", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({ predictions: [{ prediction: "dog", probabilities: { cat: 0.25, dog: 0.75 } }] });
    }),
  );
  const { user } = renderPage(`/models/${model().id}`);
  await user.upload(await screen.findByLabelText("Audio"), new File(["RIFF"], "1.wav", { type: "audio/wav" }));
  await user.click(screen.getByRole("button", { name: "Predict" }));
  expect(await within(await screen.findByRole("status", { name: "Prediction" })).findAllByText("dog")).not.toHaveLength(0);
  expect(sent).toEqual([{ rows: [{ audio: "data:audio/wav;base64,UklGRg==" }] }]);
});

it.each([
  ["classification", "The model names its class."],
  ["language_modelling", "The model continues it."],
])("says what a text is given for: %s", async (task, hint) => {
  server.use(
    answers("/api/v1/models/{id}", model({ latest_version: TRAINED })),
    answers("/api/v1/models/{id}/versions", page<ModelVersion>([TRAINED])),
    answers("/api/v1/model-versions/{id}", TRAINED),
    answers("/api/v1/dataset-versions/{id}", datasetVersion({ format: "text_lines", schema: { input_shape: [128], task } })),
  );
  renderPage(`/models/${model().id}`);
  expect(await screen.findByLabelText("Text")).toHaveAccessibleDescription(hint);
});
