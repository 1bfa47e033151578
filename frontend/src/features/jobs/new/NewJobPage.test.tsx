// SPDX-License-Identifier: Apache-2.0
// Starting a job: little to fill in, errors where they belong, retries without doubles.
import { cleanup, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { JobPreview, JobSubmit } from "@/api/types";
import { dataset, datasetVersion, job, jobDetail, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { jobPreview } from "@/testing/schedulingFixtures";
import { answers, page, problem, server } from "@/testing/server";

const builtin = model({ id: "00000000-0000-7000-8000-0000000000e9", name: "MLP", project: null });
const preselected = `/jobs/new?dataset=${dataset().id}&model=${builtin.id}`;

interface Sent {
  key: string | null;
  body: JobSubmit;
}

/** Answers the POSTs one by one; the last answer is repeated. */
function submissions(...responses: (() => Response)[]): Sent[] {
  const sent: Sent[] = [];
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push({ key: request.headers.get("Idempotency-Key"), body: (await request.json()) as JobSubmit });
      return (responses[sent.length - 1] ?? responses.at(-1))?.() ?? HttpResponse.error();
    }),
  );
  return sent;
}

const created = () => HttpResponse.json(job() as object, { status: 201 });

beforeEach(() => {
  server.use(
    answers("/api/v1/datasets", page([dataset()])),
    answers("/api/v1/models", page([model(), builtin])),
    answers("/api/v1/strategies", [
      {
        name: "push_sum",
        about: "Workers send one way only.",
        mode: "all_reduce",
        is_resizable: true,
        other_names: ["sgp"],
        parameters: [{ name: "n_peers", kind: "int", default: 1, minimum: 1, maximum: 16, choices: [] }],
      },
    ]),
    answers("/api/v1/jobs/{id}", jobDetail()),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs", page([])),
    answers("/api/v1/projects/{id}/secrets", page([])),
  );
});

it("starts a job from a dataset and a built-in model alone, and leaves the rest to MLHub", async () => {
  const sent = submissions(created);
  const { user, router } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([{ dataset: dataset().id, model: builtin.id, mode: "auto" }]);
});

it("starts a job with a number of epochs, and goes to it", async () => {
  const sent = submissions(created);
  const { user, router } = renderPage("/jobs/new");
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  await user.click(await screen.findByRole("option", { name: "Digits (Vision)" }));
  await user.click(screen.getByRole("combobox", { name: /Model/ }));
  await user.click(await screen.findByRole("option", { name: "MLP" }));
  const epochs = screen.getByRole("textbox", { name: /Epochs/ });
  await user.type(epochs, "7");
  expect(screen.getByText(/In the project Acme \/ Vision/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([
    { dataset: dataset().id, model: builtin.id, epochs: 7, mode: "auto" },
  ]);
});

it("takes the built-in model for the data that one came with, and offers none that cannot be trained on it", async () => {
  const fitting = model({ id: "00000000-0000-7000-8000-0000000000ea", name: "mlp", project: null });
  const other = model({ id: "00000000-0000-7000-8000-0000000000eb", name: "tiny_transformer", project: null });
  const found = dataset({ latest_version: datasetVersion({ builtin_models: ["mlp"] }) });
  server.use(answers("/api/v1/datasets", page([found])), answers("/api/v1/models", page([other, model(), fitting])));
  const sent = submissions(created);
  const { user, router } = renderPage(`/jobs/new?dataset=${dataset().id}`);
  await screen.findByDisplayValue("mlp");
  const chosen = screen.getByRole("combobox", { name: /Model/ });
  expect(chosen).toHaveAccessibleDescription(/The built-in model for such data/);
  await user.click(chosen);
  expect((await screen.findAllByRole("option")).map(({ textContent }) => textContent)).toEqual(["Small CNN", "mlp"]);
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => router.state.location.pathname).toBe(`/jobs/${job().id}`);
  expect(sent.map(({ body }) => body)).toEqual([{ dataset: dataset().id, model: fitting.id, mode: "auto" }]);
});

it("shows what the API refuses at its field, with the remedy, also among the advanced ones", async () => {
  submissions(() =>
    problem(422, {
      code: "invalid_input",
      title: "Invalid input",
      detail: "Acme may never use more than 4 GPUs.",
      errors: [
        { field: "max_workers", message: "Acme may never use more than 4 GPUs.", remedy: "Ask for at most 4 workers." },
        { field: "batch_size", message: "More than the data set has examples.", remedy: "Take at most 1,797." },
      ],
    }),
  );
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Start job" }));
  const most = await screen.findByRole("textbox", { name: "Most workers" });
  expect(most).toHaveAccessibleDescription(/never use more than 4 GPUs. Ask for at most 4 workers./);
  expect(most).toBeInvalid();
  expect(screen.getByRole("textbox", { name: /Batch size/ })).toHaveAccessibleDescription(/Take at most 1,797./);
  await user.type(most, "4");
  expect(most).not.toHaveAccessibleDescription(/never use/);
});

it("repeats the same request under the same key, and a corrected one under another", async () => {
  const sent = submissions(
    () => HttpResponse.error(),
    () => problem(409, { title: "Not ready", detail: "The data set is being inspected.", remedy: "Wait a moment." }),
    created,
  );
  const { user } = renderPage(preselected);
  const start = await screen.findByRole("button", { name: "Start job" });
  await user.click(start);
  expect(await screen.findByText(/did not answer/)).toBeInTheDocument();
  await user.click(start);
  expect(await screen.findByText("Wait a moment.")).toBeInTheDocument();
  await user.type(screen.getByRole("textbox", { name: /Epochs/ }), "5");
  await user.click(start);
  await expect.poll(() => sent.length).toBe(3);
  const [first, second, third] = sent.map(({ key }) => key);
  expect(first).toMatch(/.{16}/);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

it("lets the scheduler choose the batch up to a largest one, which is a hyperparameter", async () => {
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(screen.getByRole("textbox", { name: "Batch size" }), "64");
  const largest = await screen.findByRole("textbox", { name: "Largest batch size" });
  await user.click(largest);
  await user.paste("32");
  expect(largest).toHaveAccessibleDescription(/At least the batch size, 64\./);
  await user.clear(largest);
  await user.paste("512");
  expect(screen.getByRole("textbox", { name: "Hyperparameters" })).toHaveValue('{"max_batch_size":512}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]?.body).toMatchObject({ batch_size: 64, hyperparameters: { max_batch_size: 512 } });
});

it("does not send hyperparameters that are no JSON object", async () => {
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const parameters = await screen.findByRole("textbox", { name: /Hyperparameters/ });
  await user.type(parameters, "lr = 0.1");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(parameters).toHaveAccessibleDescription(/not a JSON object/);
  expect(sent).toEqual([]);
  await user.clear(parameters);
  await user.type(parameters, '{{"lr": 0.1}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent[0]?.body.hyperparameters).toEqual({ lr: 0.1 });
});

it("asks for resources and limits in their units, and leaves out what is empty", async () => {
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: "Memory per worker (GiB)" }), "2.5");
  await user.type(screen.getByRole("textbox", { name: "Parameter servers" }), "3");
  await user.type(screen.getByRole("textbox", { name: "Stall limit (seconds)" }), "900");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body: { resources, limits } }) => ({ resources, limits }))).toEqual([
    { resources: { memory_gib: 2.5, n_servers: 3 }, limits: { stall_s: 900 } },
  ]);
});

it("refuses a resource out of bounds at its field, and shows there what the API says of one", async () => {
  const remedy = "Give at most 64.";
  const sent = submissions(() =>
    problem(422, {
      code: "invalid_input",
      title: "Invalid input",
      detail: "No node has 80 CPUs.",
      errors: [{ field: "resources.cpus", message: "No node has 80 CPUs.", remedy }],
    }),
  );
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const memory = await screen.findByRole("textbox", { name: "Memory per worker (GiB)" });
  await user.type(memory, "0.1");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(memory).toHaveAccessibleDescription(/From 0.5 to 4,096 GiB./);
  expect(sent).toEqual([]);
  await user.clear(memory);
  const cpus = screen.getByRole("textbox", { name: "CPUs per worker" });
  await user.type(cpus, "80");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.length).toBe(1);
  expect(await screen.findByText("No node has 80 CPUs. Give at most 64.")).toBeVisible();
  expect(cpus).toBeInvalid();
});

it("says where a former hyperparameter has gone, and sends it all the same", async () => {
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: /Hyperparameters/ }), '{{"memory_gib": 4}');
  expect(screen.getByRole("note")).toHaveTextContent(/^memory_gib is now resources.memory_gib \(Memory per worker, below\)/);
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body.hyperparameters)).toEqual([{ memory_gib: 4 }]);
});

it("names a strategy that the platform knows, says what it does, and sends its parameters", async () => {
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await screen.findByRole("option", { name: "Stochastic gradient push" });
  await user.selectOptions(screen.getByRole("combobox", { name: /Strategy/ }), "push_sum");
  expect(screen.getByText("Workers send one way only.")).toBeInTheDocument();
  await user.type(screen.getByRole("textbox", { name: /^Parameters/ }), '{{"n_peers": 2}');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body.strategy)).toEqual([{ name: "push_sum", n_peers: 2 }]);
});

it("offers only data that is ready, and says where to get some", async () => {
  const inspecting = dataset({ latest_version: datasetVersion({ state: "inspecting" }) });
  server.use(answers("/api/v1/datasets", page([inspecting])));
  const { user } = renderPage(preselected);
  expect(await screen.findByText(/No dataset is ready yet/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(screen.getByText("Choose a dataset.")).toBeInTheDocument();
});

it("says before it is submitted when it is expected to start and end", async () => {
  const after = {
    decision: "wait" as const,
    mode: "",
    n_workers: 0,
    n_servers: 0,
    start_at: "2026-03-02T09:02:00Z",
    finish_at: "2026-03-02T09:30:00Z",
    finish_p90_at: "2026-03-02T09:45:00Z",
    explanations: [{ reason: "no_free_gpus", sentence: "All 8 GPUs are in use; it needs 1.", facts: {} }],
  };
  const run = { ...after, gpu_type: "", nodes: [], start_p90_at: "2026-03-02T09:04:00Z", gpu_hours: 0.5 };
  const faster = { ...run, n_workers: 2 };
  let asked: JobSubmit | undefined;
  server.use(
    http.post("/api/v1/jobs/preview", async ({ request }) => {
      asked = (await request.json()) as JobSubmit;
      return HttpResponse.json<JobPreview>(
        jobPreview({
          as_of: "2026-03-02T09:00:00Z",
          basis: "measured",
          plan: run,
          n_delayed: 2,
          alternatives: [
            { goal: "earliest", run: faster, finish_delta_s: -300, gpu_hours_delta: 0.25 },
            { goal: "cheapest", run: { ...run, n_workers: 1 }, finish_delta_s: 60, gpu_hours_delta: -0.1 },
          ],
        }),
      );
    }),
  );
  renderPage(preselected);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).toHaveTextContent(/It is pending for about 2 min 00 s \(by .+ in nine cases of ten\)\./);
  expect(preview).toHaveTextContent("All 8 GPUs are in use; it needs 1.");
  expect(preview).toHaveTextContent("Based on measurements of jobs like it.");
  expect(preview).toHaveTextContent("It takes about 0.5 GPU-hours. With it your organisation requests 9 of its 8 GPUs.");
  expect(preview).toHaveTextContent("Finishes first: 2 GPUs, 5 min 00 s earlier, 0.25 GPU-hours more.");
  expect(preview).toHaveTextContent("Costs least: 1 GPU, 1 min 00 s later, 0.1 GPU-hours less.");
  expect(preview).toHaveTextContent("2 jobs of your organisation would finish later.");
  expect(asked).toMatchObject({ dataset: dataset().id, model: builtin.id });
});

it("says before the job is submitted that the model cannot be trained on the dataset", async () => {
  const errors = [{ field: "model", code: "invalid", message: "text_cnn is trained on texts with classes.", remedy: "Use mlp." }];
  const problem = { type: "about:blank", title: "Unprocessable", status: 422, code: "invalid", detail: "", errors };
  server.use(http.post("/api/v1/jobs/preview", () => HttpResponse.json(problem, { status: 422 })));
  renderPage(preselected);
  expect(await screen.findByRole("alert")).toHaveTextContent("text_cnn is trained on texts with classes. Use mlp.");
});

it("says while the scheduler is asked again that the plan is of the settings before", async () => {
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  server.use(
    http.post("/api/v1/jobs/preview", async ({ request }) => {
      const { epochs } = (await request.json()) as JobSubmit;
      if (epochs === 7) await answered;
      return HttpResponse.json<JobPreview>(jobPreview());
    }),
  );
  const { user } = renderPage(preselected);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).not.toHaveTextContent("settings before");
  await user.type(screen.getByRole("textbox", { name: "Epochs" }), "7");
  expect(await screen.findByText(/is for the settings before/)).toBeVisible();
  answer();
  await expect.poll(() => preview.textContent).not.toContain("settings before");
});

it("names no start of a job that nothing is known to make room for", async () => {
  const after = {
    decision: "wait" as const,
    mode: "",
    n_workers: 0,
    n_servers: 0,
    start_at: "2026-03-02T09:00:00Z",
    finish_at: "2026-03-02T09:30:00Z",
    finish_p90_at: null,
    explanations: [{ reason: "quota", sentence: "Acme uses all 8 GPUs of its quota.", facts: {} }],
  };
  const run = { ...after, gpu_type: "", nodes: [], start_p90_at: null, gpu_hours: 0.5 };
  server.use(
    http.post("/api/v1/jobs/preview", () => HttpResponse.json<JobPreview>(jobPreview({ as_of: "2026-03-02T09:00:00Z", plan: run }))),
  );
  renderPage(preselected);
  const preview = await screen.findByRole("region", { name: "If you start it now" });
  expect(preview).toHaveTextContent("It stays pending; when it can start is not known.");
  expect(preview).toHaveTextContent("Acme uses all 8 GPUs of its quota.");
  expect(preview).not.toHaveTextContent("0 s");
  expect(preview).not.toHaveTextContent("Predicted finish");
});

it("gives the job environment variables and secrets of the project, and refuses a line that is neither", async () => {
  const at = "2026-11-22T10:00:00Z";
  server.use(
    answers("/api/v1/projects/{id}/secrets", page([{ name: "HF_TOKEN", set_by: null, created_at: at, updated_at: at }])),
  );
  const sent = submissions(created);
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  const variables = await screen.findByRole("textbox", { name: /Environment variables/ });
  await user.type(variables, "A=1=2{enter}B");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText('"B" is not NAME=value.')).toBeVisible();
  await user.type(variables, "=");
  await user.click(screen.getByRole("combobox", { name: /Secrets/ }));
  await user.click(await screen.findByRole("option", { name: "HF_TOKEN" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => [body.environment, body.secrets])).toEqual([[{ A: "1=2", B: "" }, ["HF_TOKEN"]]]);
});

it("sends the image that the workers shall run, and shows a refusal at its field", async () => {
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push(((await request.json()) as { image?: string }).image);
      const refusal = { field: "image", code: "invalid", message: "No job may bring an image of its own here.", remedy: "Leave image out." };
      return HttpResponse.json({ type: "about:blank", title: "Invalid", status: 422, detail: refusal.message, errors: [refusal] }, { status: 422 });
    }),
  );
  const { user } = renderPage(preselected);
  await user.click(await screen.findByRole("button", { name: "Advanced settings" }));
  await user.type(await screen.findByRole("textbox", { name: /Container image/ }), " registry.example.org/team/train:1.4 ");
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("No job may bring an image of its own here. Leave image out.")).toBeVisible();
  expect(sent).toEqual(["registry.example.org/team/train:1.4"]);
});

it("starts a script without a dataset, with further ones by name", async () => {
  const sent = submissions(created);
  const script = model({ latest_version: modelVersion({ kind: "script" }) });
  server.use(answers("/api/v1/models", page([script, builtin])));
  const { user } = renderPage(`/jobs/new?model=${script.id}`);
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  await user.click(await screen.findByRole("option", { name: "No dataset" }));
  await user.click(screen.getByRole("button", { name: "Advanced settings" }));
  await user.click(await screen.findByRole("button", { name: "Add a dataset" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("Give each a name and a dataset.")).toBeVisible();
  await user.type(screen.getByRole("textbox", { name: "Name of further dataset 1" }), "words");
  await user.click(screen.getByRole("combobox", { name: "Further dataset 1" }));
  await user.click(await screen.findByRole("option", { name: "Digits (Vision)" }));
  await user.click(screen.getByRole("button", { name: "Start job" }));
  await expect.poll(() => sent.map(({ body }) => body)).toEqual([
    { project: script.project?.id, model: script.id, mode: "auto", datasets: { words: dataset().id } },
  ]);
});

it("starts a script without a dataset and with the arguments of its command line", async () => {
  const sent = submissions(created);
  const script = model({ latest_version: modelVersion({ kind: "script" }) });
  server.use(answers("/api/v1/models", page([script, builtin])));
  const { user } = renderPage(`/jobs/new?model=${script.id}`);
  await user.type(await screen.findByRole("textbox", { name: "Arguments" }), '--lr 0.1 --name "two');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  expect(await screen.findByText("A quotation mark is not closed.")).toBeVisible();
  await user.type(screen.getByRole("textbox", { name: "Arguments" }), ' words"');
  await user.click(screen.getByRole("button", { name: "Start job" }));
  const hyperparameters = { arguments: ["--lr", "0.1", "--name", "two words"] };
  await expect.poll(() => sent.map(({ body }) => body)).toEqual([
    { project: script.project?.id, model: script.id, mode: "auto", hyperparameters },
  ]);
});

it("offers no job without a dataset for models that read one", async () => {
  const { user } = renderPage(`/jobs/new?model=${builtin.id}`);
  await user.click(await screen.findByRole("combobox", { name: /Dataset/ }));
  expect(await screen.findByRole("option", { name: "Digits (Vision)" })).toBeVisible();
  expect(screen.queryByRole("option", { name: "No dataset" })).toBeNull();
});

it("takes the built-in model that the address names, also when the list offers it no more", async () => {
  const far = model({ id: "00000000-0000-7000-8000-0000000000ea", name: "Far", project: null });
  server.use(answers("/api/v1/models/{id}", far));
  renderPage(`/jobs/new?model=${builtin.id}`);
  expect(await screen.findByRole("combobox", { name: /Model/ })).toHaveValue("MLP");
  cleanup();
  renderPage(`/jobs/new?model=${far.id}`);
  await waitFor(() => expect(screen.getByRole("combobox", { name: /Model/ })).toHaveValue("Far"));
});
