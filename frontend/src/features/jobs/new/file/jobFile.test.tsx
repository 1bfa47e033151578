// SPDX-License-Identifier: Apache-2.0
// The form of a new job and its file in YAML: nothing is lost between them, and what is wrong is said at once.
import { fireEvent, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { JobSubmit } from "@/api/types";
import { dataset, datasetVersion, job, jobDetail, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { jobPreview } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

import { NO_DATASET, requestOf } from "../draft";
import { fileText, readFile } from "./jobFile";

const builtin = model({ id: "00000000-0000-7000-8000-0000000000e9", name: "MLP", project: null });
const VERSION_OF_DATASET = datasetVersion({ id: "00000000-0000-7000-8000-0000000000d9" });
const VERSION_OF_MODEL = modelVersion({ id: "00000000-0000-7000-8000-0000000000e8" });
const FULL: JobSubmit = {
  dataset: dataset().id,
  model: builtin.id,
  name: "night: run #3",
  mode: "all_reduce",
  epochs: 10,
  batch_size: 64,
  min_workers: 2,
  max_workers: 4,
  seed: 7,
  priority: -3,
  target_metric: "eval/accuracy",
  target_value: 0.95,
  hyperparameters: { learning_rate: 1e-7, layers: [64, 32], schedule: { name: "cosine", warmup: null }, arguments: ["--lr", "a b"] },
  strategy: { name: "push_sum", n_peers: 2 },
  resources: { cpus: 0.5, memory_gib: 8, gpu_types: ["A100", "H100"] },
  limits: { stall_s: 900, idle_s: 60 },
  environment: { TOKENIZERS: "false", EMPTY: "", EQUAL: "a=b" },
  image: "registry.example.org/team/train:1.4",
  secrets: ["TOKEN"],
  datasets: { extra: dataset().id },
  features: ["layer4"],
};

/** As the API lists them: those of the name that is asked for, else those whose name contains what is searched. */
function named(path: string, rows: readonly { name: string }[]) {
  return http.get(path, ({ request }) => {
    const query = new URL(request.url).searchParams;
    const [name, search] = [query.get("name"), query.get("search") ?? ""];
    const found = rows.filter((row) => (name === null ? row.name.includes(search) : row.name === name));
    return HttpResponse.json(page(found.slice(0, Number(query.get("limit") ?? 50))));
  });
}

beforeEach(() => {
  server.use(
    named("/api/v1/datasets", [dataset()]),
    named("/api/v1/models", [model(), builtin]),
    answers("/api/v1/strategies", []),
    answers("/api/v1/jobs/{id}", jobDetail()),
    answers("/api/v1/jobs", page([])),
    answers("/api/v1/projects/{id}/secrets", page([])),
    answers("/api/v1/dataset-versions/{id}", VERSION_OF_DATASET),
    answers("/api/v1/model-versions/{id}", VERSION_OF_MODEL),
    http.post("/api/v1/jobs/preview", () => HttpResponse.json(jobPreview())),
  );
});

describe("A job file", () => {
  it("is read as the request that it was written from, with what the form has no input for", async () => {
    const read = await readFile(fileText(FULL));
    expect("draft" in read && requestOf(read.draft)).toEqual(FULL);
  });

  it("keeps the versions that it names, as a file of mlhub show does, until another dataset or model is chosen", async () => {
    const [ofDataset, ofModel] = [VERSION_OF_DATASET, VERSION_OF_MODEL];
    const request: JobSubmit = { dataset_version: ofDataset.id, model_version: ofModel.id, mode: "auto", epochs: 2 };
    const read = await readFile(fileText(request));
    if (!("draft" in read)) throw new Error(read.problems.join());
    expect(read.draft).toMatchObject({ dataset: ofDataset.dataset.id, model: ofModel.model.id });
    expect(requestOf(read.draft)).toEqual(request);
    expect(requestOf({ ...read.draft, dataset: "other", model: "other" })).toEqual({ dataset: "other", model: "other", mode: "auto", epochs: 2 });
    const numbered = await readFile("dataset_version: " + ofDataset.id + "\nmodel: MLP:3\n");
    expect("draft" in numbered && requestOf(numbered.draft)).toEqual({ dataset_version: ofDataset.id, model: "MLP:3", mode: "auto" });
  });

  it("finds the one of exactly that name behind many whose names contain it", async () => {
    const others = Array.from({ length: 60 }, (_, n) => model({ id: `m${n}`, name: `MLP ${n}` }));
    server.use(named("/api/v1/models", [...others, builtin]));
    const read = await readFile("model: MLP\nproject: research\n");
    expect("draft" in read && read.draft.model).toBe(builtin.id);
  });

  it.each<JobSubmit>([
    { ...FULL, kind: "train", project: "research" },
    { ...FULL, environment: { SPACED: " a ", LINES: "a\nb\n", PLAIN: "1e-3", YES: "yes", TIME: "1:30" } },
    { ...FULL, hyperparameters: { at: "2024-01-01", text: "1_000", big: 1e21, tiny: 1e-300, none: null, merge: "<<", empty: "", list: [[], {}, [1]] } },
  ])("loses nothing of %o", async (request) => {
    const read = await readFile(fileText(request));
    expect("draft" in read && requestOf(read.draft)).toEqual(request);
  });

  it("has a range of the batch as the form has it, and the project of a script without a dataset", async () => {
    const ranged = await readFile(`dataset: ${dataset().id}\nmodel: MLP\nbatch_size: {min: 32, max: 256}\n`);
    expect("draft" in ranged && requestOf(ranged.draft)).toMatchObject({ batch_size: 32, hyperparameters: { max_batch_size: 256 } });
    const script = await readFile("model: MLP\nproject: research\n");
    expect("draft" in script && requestOf({ ...script.draft, dataset: NO_DATASET }, "p1")).toEqual({ model: builtin.id, project: "research", mode: "auto" });
  });

  it("names datasets and models, and says all that is wrong with it at once", async () => {
    const named = await readFile(`dataset: ${dataset().name}\nmodel: MLP\n`);
    expect("draft" in named && requestOf(named.draft)).toEqual({ dataset: dataset().id, model: builtin.id, mode: "auto" });
    const wrong = await readFile("model: NoSuch\nepochs: ten\nresources: 4\ndataset_version: x\nlimits: {stall_s: soon}\nstrategy: {n_peers: 2}\nseed: .inf\nenvironment: {A: 1}\n");
    expect(wrong.problems).toEqual([
      "epochs: this is not a number.",
      "resources: write names and values below it.",
      "limits.stall_s: this is not a number.",
      "environment.A: this is not a text; put it in quotation marks.",
      "strategy.name: name the strategy.",
      "seed: this is not a finite number.",
      "dataset_version: there is none of the id x.",
      "model: there is none of the name NoSuch.",
    ]);
    const brought = await readFile("data: ./images\ncode: train.py\nkind: predict\n");
    expect(brought.problems).toEqual([
      expect.stringMatching(/^kind: this form starts trainings/),
      expect.stringMatching(/^data: this page cannot read files next to the job file/),
      expect.stringMatching(/^code: /),
    ]);
    expect((await readFile("epochs: 1\nname: [a\n")).problems).toEqual([expect.stringMatching(/^Line [23]: /)]);
    expect((await readFile("just words")).problems).toEqual(["Write fields and values, such as epochs: 10."]);
  });
});

it("starts a job from a file, shows it in the form, and does not start it while the file cannot be read", async () => {
  const sent: JobSubmit[] = [];
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push((await request.json()) as JobSubmit);
      return HttpResponse.json(job() as object, { status: 201 });
    }),
  );
  const { user, router } = renderPage(`/jobs/new?dataset=${dataset().id}&model=${builtin.id}`);
  await user.type(await screen.findByLabelText("Epochs"), "5");
  await user.click(screen.getByRole("radio", { name: "YAML" }));
  const file = await screen.findByLabelText<HTMLTextAreaElement>("Job file (YAML)");
  expect(file.value).toBe(`dataset: ${dataset().id}\nmodel: ${builtin.id}\nepochs: 5\n`);
  fireEvent.change(file, { target: { value: `${file.value}epochs: 6\n` } });
  expect(await screen.findByText(/^Line 4: duplicated mapping key/)).toBeVisible();
  expect(screen.getByRole("button", { name: "Start job" })).toBeDisabled();
  await user.click(screen.getByRole("radio", { name: "Form" }));
  expect(screen.getByLabelText("Job file (YAML)")).toBeVisible(); // nothing that is typed is lost
  fireEvent.change(file, { target: { value: `dataset: ${dataset().id}\nmodel: MLP\nepochs: 6\npriority: 2\n` } });
  await waitFor(() => expect(screen.getByRole("button", { name: "Start job" })).toBeEnabled());
  await user.click(screen.getByRole("radio", { name: "Form" }));
  expect(await screen.findByLabelText("Epochs")).toHaveValue("6");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent).toEqual([{ dataset: dataset().id, model: builtin.id, mode: "auto", epochs: 6, priority: 2 }]);
});

it("keeps the settings as a template by a name, and fills the form in with it", async () => {
  server.use(
    answers("/api/v1/jobs/preview", jobPreview()),
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([builtin])),
    answers(`/api/v1/datasets/${dataset().id}`, dataset()),
    answers(`/api/v1/models/${builtin.id}`, builtin),
  );
  const { user } = renderPage(`/jobs/new?dataset=${dataset().id}&model=${builtin.id}`);
  const epochs = await screen.findByLabelText("Epochs");
  await user.type(epochs, "5");
  await user.click(await screen.findByRole("button", { name: "Templates" }));
  await user.type(await screen.findByRole("textbox", { name: "Name of the template" }), "nightly");
  await user.click(screen.getByRole("button", { name: "Save template" }));
  expect(await screen.findByRole("menuitem", { name: "nightly" })).toBeVisible();
  await user.clear(epochs);
  await user.type(epochs, "70");
  if (screen.queryByRole("menuitem", { name: "nightly" }) === null) await user.click(screen.getByRole("button", { name: "Templates" }));
  await user.click(await screen.findByRole("menuitem", { name: "nightly" }));
  await waitFor(() => expect(screen.getByLabelText("Epochs")).toHaveValue("5"));
  await user.click(screen.getByRole("button", { name: "Templates" }));
  await user.click(await screen.findByRole("button", { name: "Forget the template nightly" }));
  await waitFor(() => expect(screen.queryByRole("menuitem", { name: "nightly" })).toBeNull());
  expect(screen.getByText(/No template yet/)).toBeVisible();
});
