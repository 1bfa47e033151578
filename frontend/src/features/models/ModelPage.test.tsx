// SPDX-License-Identifier: Apache-2.0
// A model's page: what training made of it, and where that came from.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Environment, Model, ModelVersion } from "@/api/types";
import { ACME, dataset, datasetVersion, job, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const TRAINED = modelVersion({
  aliases: ["best", "production"],
  id: "00000000-0000-7000-8000-0000000000e9",
  number: 2,
  source: "training",
  metrics: { accuracy: 0.9812, loss: 0.0623 },
  job_id: job().id,
  dataset_version: { id: datasetVersion().id, number: 1, dataset: { id: dataset().id, name: "Digits" } },
  code_version: { id: modelVersion().id, number: 1, model: { id: model().id, name: "Small CNN" } },
  downloads: {
    weights: "/api/v1/model-versions/x/download?what=weights",
    package: null,
    metadata: "/api/v1/model-versions/x/download?what=metadata",
    export: "/api/v1/models/x/versions/2/export",
  },
});

function serveModel(over: Partial<Model> = {}) {
  server.use(
    answers("/api/v1/models/{id}", model(over)),
    http.get("/api/v1/models/:id/versions", ({ request }) => {
      const isTraining = new URL(request.url).searchParams.get("source") === "training";
      return HttpResponse.json(page<ModelVersion>([isTraining ? TRAINED : modelVersion()]));
    }),
    http.get("/api/v1/model-versions/:id", ({ params }) =>
      HttpResponse.json<ModelVersion>(params.id === TRAINED.id ? TRAINED : modelVersion()),
    ),
  );
}

describe("A trained version", () => {
  it("leads to its job, its data and its code, and to its files", async () => {
    serveModel({ n_trained: 1 });
    const { user } = renderPage(`/models/${model().id}`);
    const trained = await screen.findByRole("table", { name: "Trained versions" });
    expect(within(trained).getByText("accuracy 0.9812, loss 0.0623")).toBeVisible();
    expect(within(trained).getByText("@best, @production")).toBeVisible();
    await user.click(within(trained).getByRole("link", { name: "Version 2" }));

    const shown = await screen.findByRole("region", { name: "Version 2" });
    expect(within(shown).getByRole("link", { name: "This job" })).toHaveAttribute("href", `/jobs/${job().id}`);
    expect(within(shown).getByRole("link", { name: "Digits, version 1" })).toHaveAttribute(
      "href",
      `/datasets/${dataset().id}?version=${datasetVersion().id}`,
    );
    expect(within(shown).getByRole("link", { name: "Small CNN, version 1" })).toBeVisible();
    expect(within(shown).getByRole("link", { name: "Weights" })).toHaveAttribute("href", TRAINED.downloads.weights);
    expect(within(shown).getByRole("link", { name: "Folder that predicts" })).toHaveAttribute(
      "href",
      TRAINED.downloads.export,
    );
    expect(within(shown).queryByRole("link", { name: "Package" })).not.toBeInTheDocument();
  });
});

describe("A trained version that cannot be exported", () => {
  it("says why, and what to do, in place of the folder", async () => {
    serveModel();
    const not_exportable = { code: "not_exportable", field: null, message: "train is a script.", remedy: "Bring a package." };
    server.use(answers("/api/v1/model-versions/{id}", { ...TRAINED, notes: "", not_exportable }));
    renderPage(`/models/${model().id}`);
    expect(await screen.findByText("No folder that predicts elsewhere: train is a script. Bring a package.")).toBeVisible();
    expect(screen.getByRole("link", { name: "Weights" })).toBeVisible();
    expect(screen.queryByRole("link", { name: "Folder that predicts" })).not.toBeInTheDocument();
  });
});

describe("What the check of the code noticed", () => {
  it("stands above the version", async () => {
    serveModel();
    const hints = ["Nothing in its code forms a process group."];
    server.use(answers("/api/v1/model-versions/{id}", modelVersion({ contract: { hints } })));
    renderPage(`/models/${model().id}`);
    const shown = await screen.findByRole("alert", { name: "The check of the code noticed" });
    expect(within(shown).getByText(hints[0] ?? "")).toBeVisible();
  });
});

describe("The aliases of a version", () => {
  it("are shown, set and moved", async () => {
    serveModel();
    let aliases = ["best"];
    const sent: unknown[] = [];
    server.use(
      http.get("/api/v1/model-versions/:id", () => HttpResponse.json<ModelVersion>(modelVersion({ aliases }))),
      http.put("/api/v1/models/:id/aliases/:name", async ({ request, params }) => {
        sent.push([params.name, await request.json()]);
        aliases = [...aliases, String(params.name)];
        return HttpResponse.json({});
      }),
    );
    const { user } = renderPage(`/models/${model().id}`);
    expect(await screen.findByText("@best")).toBeVisible();
    await user.type(await screen.findByLabelText("Alias"), "@production");
    await user.click(screen.getByRole("button", { name: "Set alias" }));
    expect(await screen.findByText("@production")).toBeVisible();
    expect(sent).toEqual([["production", { version: 1 }]]);
  });
});

describe("A version whose code brings an image", () => {
  it("names it", async () => {
    server.use(
      answers("/api/v1/models/{id}", model()),
      answers("/api/v1/models/{id}/versions", page<ModelVersion>([modelVersion()])),
      answers("/api/v1/model-versions/{id}", modelVersion({ image: "registry.example.org/team/train:1.4" })),
    );
    renderPage(`/models/${model().id}`);
    const shown = await screen.findByRole("region", { name: "Version 1" });
    expect(within(shown).getByText("Container image")).toBeVisible();
    expect(within(shown).getByText("registry.example.org/team/train:1.4")).toBeVisible();
  });
});

describe("A version whose code requires packages", () => {
  it("shows what was installed for it, and the log of the build", async () => {
    const brief = { id: "00000000-0000-7000-8000-0000000000d1", state: "ready", origin: "requirements.txt", size_bytes: 2048 } as const;
    server.use(
      answers("/api/v1/models/{id}", model()),
      answers("/api/v1/models/{id}/versions", page<ModelVersion>([modelVersion()])),
      answers("/api/v1/model-versions/{id}", modelVersion({ environment: brief })),
      answers<Environment>("/api/v1/environments/{id}", {
        ...brief,
        organisation: ACME,
        requirements: ["greeting"],
        packages: [{ name: "greeting", version: "1.0" }],
        python: "3.11.7",
        platform: "linux-x86_64",
        error: null,
        n_versions: 1,
        used_by: [],
        created_at: "2026-03-02T09:00:00Z",
        started_at: null,
        finished_at: null,
      }),
      answers("/api/v1/environments/{id}/log", { log: "Installed 1 package\n + greeting==1.0" }),
    );
    const { user } = renderPage(`/models/${model().id}`);
    const packages = await screen.findByRole("region", { name: "Packages" });
    expect(within(packages).getByText("Packages of requirements.txt")).toBeVisible();
    expect(await within(packages).findByText("greeting 1.0")).toBeVisible();
    await user.click(within(packages).getByRole("button", { name: "Show the log" }));
    expect(await within(packages).findByText(/\+ greeting==1.0/)).toBeInTheDocument();
  });
});

describe("A built-in model", () => {
  it("is marked, can be trained, and cannot be changed", async () => {
    serveModel({ project: null });
    renderPage(`/models/${model().id}`);
    expect(await screen.findByText("Built-in")).toBeVisible();
    expect(screen.getByRole("link", { name: "Train it" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Upload a new version" })).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Delete" })).not.toBeInTheDocument();
  });
});

describe("Uploading a model", () => {
  it("sends a single file without an entry and shows why its code was refused", async () => {
    const refused = modelVersion({
      state: "refused",
      error: { field: "file", message: "model.py has no function build_model.", remedy: "Define build_model()." },
    });
    server.use(
      answers("/api/v1/models", page<Model>([])),
      http.post("/api/v1/models", () => HttpResponse.json<Model>(model({ latest_version: refused }), { status: 201 })),
      answers("/api/v1/models/{id}", model({ latest_version: refused })),
      answers("/api/v1/models/{id}/versions", page<ModelVersion>([])),
      answers("/api/v1/model-versions/{id}", refused),
    );
    const { user } = renderPage("/models");
    await user.click(await screen.findByRole("button", { name: "Upload a model" }));
    const dialog = await screen.findByRole("dialog");
    expect(within(dialog).queryByLabelText("Entry")).not.toBeInTheDocument();
    await user.selectOptions(await within(dialog).findByLabelText("Kind"), "package");
    expect(await within(dialog).findByLabelText("Entry")).toBeVisible();
    await user.upload(within(dialog).getByLabelText("Code file"), new File(["x = 1"], "model.py"));
    expect(within(dialog).queryByLabelText("Entry")).not.toBeInTheDocument();
    await user.click(within(dialog).getByRole("button", { name: "Upload" }));

    expect(await screen.findByText("model.py has no function build_model.")).toBeVisible();
    expect(screen.getByText("What to do: Define build_model().")).toBeVisible();
    expect(screen.queryByRole("link", { name: "Train it" })).not.toBeInTheDocument();
  });
});

describe("Code with a hyperparameter that is now a resource", () => {
  it("is ready, with a hint", async () => {
    const hint = "memory_gib is now resources.memory_gib: as a hyperparameter it reaches the model's code only.";
    serveModel();
    server.use(
      http.get("/api/v1/model-versions/:id", () =>
        HttpResponse.json<ModelVersion>(modelVersion({ contract: { hints: [hint] } })),
      ),
    );
    renderPage(`/models/${model().id}`);
    expect(await screen.findByText(hint)).toBeVisible();
    expect(screen.queryByText(/refused/i)).not.toBeInTheDocument();
  });
});
