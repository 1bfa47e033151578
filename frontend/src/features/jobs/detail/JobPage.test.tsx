// SPDX-License-Identifier: Apache-2.0
// One job's page: why it waits, why it failed, what it trained, and what can be done to it.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { attempt, dataset, job, jobDetail, me, modelVersion, speed } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { decision, why } from "@/testing/schedulingFixtures";
import { answers, page, problem, server } from "@/testing/server";
import { ADDRESS, ID, point, stored } from "@/testing/storedJob";

it("says why a job waits, with every reason and its numbers", async () => {
  const explanations = [
    { reason: "no_free_gpus", sentence: "All 4 GPUs are in use; it needs 2.", facts: { total: 4, need: 2, scope: "", above: "Acme" } },
    { reason: "quota_running_jobs", sentence: "Acme runs 2 of its 2 jobs at once.", facts: { used: 2, quota: 2 } },
  ];
  stored(jobDetail({ state: "queued", current_attempt: null, attempts: [], explanations }));
  renderPage(ADDRESS);
  const why = within(await screen.findByRole("status", { name: "Why it is pending" }));
  expect(why.getByText("All 4 GPUs are in use; it needs 2.")).toBeInTheDocument();
  expect(why.getByText("Total: 4 · Need: 2")).toBeInTheDocument();
  expect(why.getByText("Acme runs 2 of its 2 jobs at once.")).toBeInTheDocument();
});

it("says of a running job when it will have to release GPUs, and no other of its reasons", async () => {
  const sentence = "Quotas change on 2026-03-02 at 10:00 UTC: it is predicted to release 1 of its 2 GPUs then.";
  const unchanged = { reason: "unchanged", sentence: "No better allocation was found.", facts: {} };
  const release = { reason: "releases_at_quota_change", sentence, facts: { at: "2026-03-02 at 10:00 UTC", given: 1, held: 2 } };
  stored(jobDetail({ explanations: [unchanged, release] }));
  renderPage(ADDRESS);
  const ahead = await screen.findByRole("status", { name: "It will have to release GPUs" });
  expect(ahead).toHaveTextContent(sentence);
  expect(ahead).not.toHaveTextContent("No better allocation");
});

it("names the image that the workers run, with the code and with the settings", async () => {
  const image = "registry.example.org/team/train:1.4";
  stored(jobDetail({ image }));
  const { unmount } = renderPage(`${ADDRESS}/code`);
  expect(await screen.findByText(image)).toBeVisible();
  unmount();
  renderPage(`${ADDRESS}/configuration`);
  expect(await screen.findByText(image)).toBeVisible();
});

it("names the image that the code brings, and that it is the code's", async () => {
  const image = "registry.example.org/team/train:1.4";
  stored(jobDetail({ code_image: image }));
  const { unmount } = renderPage(`${ADDRESS}/code`);
  expect(await screen.findByText(/which the code brings/)).toHaveTextContent(image);
  unmount();
  renderPage(`${ADDRESS}/configuration`);
  expect(await screen.findByText(`${image}, of the code`)).toBeVisible();
});

it("explains a failure: cause, whose fault, what to do, and the traceback on demand", async () => {
  const failure = {
    cause: "out_of_memory" as const,
    fault: "user" as const,
    message: "The GPU's memory was full at step 3.",
    remedy: "Halve the batch size.",
    field: "batch_size",
    traceback: 'File "model.py", line 7\nOutOfMemoryError',
  };
  stored(jobDetail({ state: "failed", failure, finished_at: "2026-03-02T10:00:00Z" }));
  const { user } = renderPage(ADDRESS);
  const title = "Out of memory – the fault is in the model, the data or the settings";
  const card = within(await screen.findByRole("alert", { name: title }));
  expect(card.getByText("The GPU's memory was full at step 3.")).toBeInTheDocument();
  expect(card.getByText(/Halve the batch size/)).toBeInTheDocument();
  expect(card.queryByText(/OutOfMemoryError/)).not.toBeInTheDocument();
  expect(card.getByText("batch_size")).toBeVisible();
  await user.click(card.getByRole("button", { name: "Show traceback" }));
  expect(await card.findByText(/OutOfMemoryError/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Cancel job" })).not.toBeInTheDocument();
});

it("says from where a failed job is resumed, and offers no more to one whose dry run failed", async () => {
  const failure = { cause: "user_code" as const, fault: "user" as const, message: "disk on fire", remedy: "Correct the code.", field: null, traceback: null };
  const over = { state: "failed" as const, failure, finished_at: "2026-03-02T10:00:00Z" };
  const checkpoint = { id: 7, name: "step-7", step: 1200, is_best: false, is_pinned: false, is_reachable: true, metrics: {}, size_bytes: 9, at: "2026-03-02T09:30:00Z", attempt: 1 };
  server.use(answers("/api/v1/jobs/{id}/checkpoints", [{ ...checkpoint, id: 8, step: 1300, is_best: true }, checkpoint]));
  stored(jobDetail(over));
  const { unmount } = renderPage(ADDRESS);
  const said = /If the cause is gone, Resume continues from the newest checkpoint, of step 1,200,/;
  expect(await screen.findByText(said)).toBeVisible();
  expect(screen.getByRole("button", { name: "Resume" })).toBeVisible();
  unmount();
  stored(jobDetail({ ...over, preflight: "failed" }));
  renderPage(ADDRESS);
  expect(await screen.findByText(/Correct the code/)).toBeVisible();
  expect(screen.queryByRole("button", { name: "Resume" })).not.toBeInTheDocument();
  expect(screen.queryByText(said)).not.toBeInTheDocument();
});

it("shows the range in which the scheduler chooses the batch", async () => {
  const range = { batch_size: 64, hyperparameters: { max_batch_size: 512 } };
  stored(jobDetail({ ...range, current_attempt: attempt({ batch_size: 128 }) }));
  renderPage(`${ADDRESS}/configuration`);
  expect(await screen.findByText("64 to 512, by the scheduler: 128")).toBeInTheDocument();
});

it("asks before it cancels", async () => {
  stored(jobDetail());
  let cancelled = 0;
  server.use(
    http.post(`/api/v1/jobs/${ID}/cancel`, () => {
      cancelled += 1;
      return HttpResponse.json(job({ state: "stopping", intent: "cancel" }) as object);
    }),
  );
  const { user } = renderPage(ADDRESS);
  await user.click(await screen.findByRole("button", { name: "Cancel job" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Cancel digits-cnn?" }));
  expect(cancelled).toBe(0);
  stored(jobDetail({ state: "stopping", intent: "cancel" }));
  await user.click(dialog.getByRole("button", { name: "Cancel job" }));
  expect(await screen.findByText("It is being cancelled")).toBeInTheDocument();
  expect(cancelled).toBe(1);
  expect(screen.queryByRole("button", { name: "Pause" })).not.toBeInTheDocument();
});

it("shows the resources and limits that were asked for, and hints about hyperparameters of their names", async () => {
  const hint = "n_servers is now resources.n_servers: as a hyperparameter it reaches the model's code only.";
  stored(jobDetail({ resources: { cpus: 2, memory_gib: 4 }, limits: { stall_s: 900 }, hints: [hint] }));
  renderPage(`${ADDRESS}/configuration`);
  const configuration = within(await screen.findByRole("region", { name: "Configuration" }));
  const valueOf = (label: string) => configuration.getByText(label).nextElementSibling;
  expect(valueOf("CPUs per worker")).toHaveTextContent(/^2$/);
  expect(valueOf("Memory per worker")).toHaveTextContent("4 GiB");
  expect(valueOf("Stall limit")).toHaveTextContent("15 min 00 s");
  expect(configuration.queryByText("Parameter servers")).not.toBeInTheDocument();
  expect(configuration.getByRole("note")).toHaveTextContent(hint);
});

it("asks before it clones a job that does not train, and goes to the clone", async () => {
  stored(jobDetail({ kind: "evaluate", state: "succeeded" }));
  const clone = "00000000-0000-7000-8000-0000000000ff";
  server.use(
    http.post(`/api/v1/jobs/${ID}/clone`, () => HttpResponse.json(job({ id: clone }) as object, { status: 201 })),
    http.get(`/api/v1/jobs/${clone}`, () =>
      HttpResponse.json(jobDetail({ id: clone, name: "digits-cnn again" }) as object),
    ),
  );
  const { user } = renderPage(ADDRESS);
  await user.click(await screen.findByRole("button", { name: "Clone" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Clone" }));
  expect(await screen.findByRole("heading", { name: "digits-cnn again" })).toBeInTheDocument();
});

it("hands out the trained model and its final metrics", async () => {
  const version = "00000000-0000-7000-8000-0000000000aa";
  stored(jobDetail({ state: "succeeded", result_version: version, result_metrics: { "eval/accuracy": 0.973 } }));
  const trained = { id: "00000000-0000-7000-8000-0000000000ab", name: "mlp (trained)" };
  server.use(answers("/api/v1/model-versions/{id}", modelVersion({ id: version, model: trained })));
  renderPage(ADDRESS);
  const result = within(await screen.findByRole("region", { name: "Result" }));
  expect(result.getByText("0.973")).toBeInTheDocument();
  expect(result.getByRole("link", { name: "Weights" })).toHaveAttribute(
    "href",
    `/api/v1/model-versions/${version}/download?what=weights`,
  );
  // not the built-in model, of which it is a trained version
  const page = await result.findByRole("link", { name: "Try it: mlp (trained)" });
  expect(page).toHaveAttribute("href", `/models/${trained.id}?version=${version}`);
});

it("says of each attempt: mode, size, and how it ended", async () => {
  const first = attempt({
    id: "a1",
    number: 1,
    mode: "parameter_server",
    n_servers: 1,
    ended_at: "2026-03-02T09:10:00Z",
    outcome: "preempted",
    message: "It made room for others.",
  });
  const second = attempt({ id: "a2", number: 2, n_workers: 4, first_step: 90, last_step: 200 });
  stored(jobDetail({ attempts: [first, second], current_attempt: second }));
  renderPage(`${ADDRESS}/timeline`);
  const items = within(await screen.findByRole("list", { name: "Attempts" })).getAllByRole("listitem");
  expect(items[0]).toHaveTextContent("#1 · Parameter server · 2 workers + 1 server");
  expect(items[0]).toHaveTextContent("Preempted · It made room for others.");
  expect(items[1]).toHaveTextContent("#2 · All-reduce · 4 workers · steps 90–200");
});

it("shows those who may only look no buttons", async () => {
  stored(jobDetail());
  const organisation = job().project.organisation;
  server.use(
    answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation, role: "viewer" }] })),
  );
  renderPage(ADDRESS);
  expect(await screen.findByRole("heading", { name: "digits-cnn" })).toBeInTheDocument();
  expect(screen.queryByRole("link", { name: "Clone" })).not.toBeInTheDocument();
});

it("shows the decisions of the rounds, newest first, with reasons and sizes", async () => {
  stored(jobDetail());
  const wait = decision({
    id: 6,
    decision: "wait",
    round: null,
    n_workers: 0,
    explanations: [{ reason: "no_free_gpus", sentence: "All 4 GPUs are in use; it needs 2.", facts: {} }],
  });
  server.use(answers("/api/v1/jobs/{id}/why", why({ history: [decision(), wait] })));
  renderPage(`${ADDRESS}/why`);
  const table = await screen.findByRole("table", { name: "Decisions" });
  const [, first, second] = within(table).getAllByRole("row");
  expect(first).toHaveTextContent("Launched");
  expect(first).toHaveTextContent("All-reduce · 2 workers · node-a");
  expect(first).toHaveTextContent("Its turn, and 2 GPUs are free.");
  expect(first).toHaveTextContent("round 12");
  expect(second).toHaveTextContent("PendingAll 4 GPUs are in use; it needs 2.");
  expect(screen.getByText(/^A restart of jobs like it costs 31 s ± 4 s \(7 observations\): stopping/)).toBeVisible();
});

it("says how much another job slowed it, and which measurement was refused", async () => {
  const at = "2026-03-02T09:05:00Z";
  const times = { step_s: 0.3, alone_s: 0.2, slowdown: 1.5, error: 0.03, n_steps: 400, at };
  const slowed = { attempt_number: 1, other: "cnn on digits", resource: "gpu" as const, gpu_type: "V100", ...times };
  const nonsense = { attempt_number: 2, field: "step_s", value: -3, reason: "A time is not negative.", n: 4, at };
  server.use(answers("/api/v1/jobs/{id}/speed", { samples: [speed()], slowdowns: [slowed], refused: [nonsense] }));
  stored(jobDetail());
  renderPage(`${ADDRESS}/profile`);
  const card = await screen.findByRole("region", { name: "Profile" });
  expect(card).toHaveTextContent("With cnn on digits on the same GPU a step of attempt 1 took 1.50 ± 0.03 times as long");
  expect(card).toHaveTextContent("Attempt 2 reported step_s -3 (4 times). A time is not negative.");
});

it("shows where a step's time goes and how stale gradients were", async () => {
  const samples = [speed({ staleness: [6, 3, 1], n_discarded: 2 })];
  server.use(answers("/api/v1/jobs/{id}/speed", { samples, slowdowns: [], refused: [], workers: [] }));
  stored(jobDetail());
  renderPage(`${ADDRESS}/profile`);
  const card = await screen.findByRole("region", { name: "Profile" });
  expect(within(card).getByText("Waiting for others 10 ms · 10 %")).toBeInTheDocument();
  expect(within(card).getByText("480 examples")).toBeInTheDocument();
  expect(within(card).getByRole("img", { name: "Staleness 0: 60 %, 1: 30 %, 2: 10 %" })).toBeInTheDocument();
  expect(within(card).getByText("0.5 on average · 2 gradients came too late")).toBeInTheDocument();
  expect(within(card).queryByText("GPU utilisation")).not.toBeInTheDocument();
});

it("predicts on a dataset with what a job trained, and goes to the job that does it", async () => {
  const trained = jobDetail({ state: "succeeded", finished_at: "2026-03-02T09:00:00Z", result_version: "v1" });
  const unlabelled = dataset({ id: "00000000-0000-7000-8000-0000000000f1", name: "Unlabelled" });
  stored(trained);
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/datasets", page([unlabelled])),
    http.post("/api/v1/jobs", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(job({ id: "00000000-0000-7000-8000-0000000000f2" }) as object, { status: 201 });
    }),
  );
  const { user, router } = renderPage(ADDRESS);
  await user.click(await screen.findByRole("button", { name: "Predict" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Predict with digits-cnn" }));
  expect(await dialog.findByRole("button", { name: "Start" })).toBeDisabled();
  await user.click(dialog.getByRole("combobox", { name: /Kind/ }));
  await user.click(await screen.findByRole("option", { name: /Features/ }));
  await user.click(dialog.getByRole("combobox", { name: /Dataset/ }));
  await user.click(await screen.findByRole("option", { name: "Unlabelled (Vision)" }));
  await user.type(dialog.getByRole("textbox", { name: /Layers/ }), "0, encoder.norm");
  await user.click(dialog.getByRole("button", { name: "Start" }));
  await expect.poll(() => router.state.location.pathname).toContain("f2");
  expect(sent).toEqual([
    {
      kind: "predict",
      model_of: ID,
      dataset: unlabelled.id,
      project: trained.project.id,
      features: ["0", "encoder.norm"],
    },
  ]);
});

it("gives the predictions of a job that is done, and says what was asked", async () => {
  const prediction = { features: [], output: "parquet", examples: "held_out", combine: "mean" };
  const result_file = { name: "predictions.parquet", size_bytes: 2048 };
  stored(jobDetail({ kind: "predict", state: "succeeded", prediction, result_file }));
  renderPage(ADDRESS);
  const link = await screen.findByRole("link", { name: "Download" });
  expect(link).toHaveAttribute("href", `/api/v1/jobs/${ID}/result`);
  expect(screen.getByText(/predictions.parquet, 2/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Predict" })).not.toBeInTheDocument();
});

it("lists what a script left, and the checkpoints that a failed job is resumed from", async () => {
  const at = "2026-03-02T09:00:00Z";
  stored(jobDetail({ state: "failed", finished_at: at, model_version: { ...jobDetail().model_version, kind: "script" } }));
  server.use(
    answers("/api/v1/jobs/{id}/artifacts", [{ name: "output/plots/loss #1.svg", size_bytes: 2048, sha256: "ab", at }]),
    answers("/api/v1/jobs/{id}/checkpoints", [
      { id: 1, name: "script/step-000000000003", step: 3, attempt_number: 1, is_best: false, is_pinned: false, is_reachable: false, metrics: {}, size_bytes: 4096, at },
    ]),
  );
  const { user } = renderPage(`${ADDRESS}/artifacts`);
  const link = await screen.findByRole("link", { name: "output/plots/loss #1.svg" });
  expect(link).toHaveAttribute("href", `/api/v1/jobs/${ID}/artifacts/output/plots/loss%20%231.svg`);
  await user.click(screen.getByRole("link", { name: "Checkpoints" }));
  expect(await screen.findByText("script/step-000000000003")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Resume" })).toBeInTheDocument();
});

it("shows how long the start took, phase by phase, and whose validation counts", async () => {
  const earlier = "00000000-0000-7000-8000-0000000000ff";
  stored(jobDetail({ validated_by: earlier }));
  const at = "2026-03-02T09:00:00Z";
  server.use(
    answers("/api/v1/jobs/{id}/startup", {
      number: 1,
      is_complete: true,
      total_s: 8.1,
      phases: [
        { name: "validation", started_at: at, duration_s: 2 },
        { name: "import", started_at: at, duration_s: 6.1 },
      ],
      inputs: [{ node: "lab-2", inputs_bytes: 2048, found_bytes: 2048, fetched_bytes: 0, fetch_s: 0 }],
    }),
  );
  renderPage(`${ADDRESS}/timeline`);
  expect(await screen.findByText("Start-up: 8.1 s, of which importing 6.1 s")).toBeInTheDocument();
  expect(screen.getByText("Inputs on lab-2: found on the node (2 KiB)")).toBeInTheDocument();
  const phases = within(screen.getByRole("list", { name: "Phases of the start" }));
  expect(phases.getAllByRole("listitem").map((found) => found.textContent)).toEqual(["Validation 2 s", "Importing 6.1 s"]);
  expect(screen.getByRole("link", { name: /same content and settings/ })).toHaveAttribute("href", `/jobs/${earlier}`);
});

it("has a tab for each part, each with an address, and shows what was asked for where it does not train", async () => {
  const prediction = { features: [], output: "parquet", examples: "held_out", combine: "mean" };
  stored(jobDetail({ kind: "predict", prediction }));
  const { user, router } = renderPage(ADDRESS);
  const tabs = within(await screen.findByRole("navigation", { name: "Parts of the job" }));
  expect(tabs.queryByRole("link", { name: "Checkpoints" })).not.toBeInTheDocument();
  expect(tabs.getByRole("link", { name: "Overview" })).toHaveAttribute("aria-current", "page");
  await user.click(tabs.getByRole("link", { name: "Configuration" }));
  expect(await screen.findByText("held-out examples")).toBeInTheDocument();
  expect(router.state.location.pathname).toBe(`${ADDRESS}/configuration`);
});

it("leads links to parts of the former page to their tabs", async () => {
  stored(jobDetail());
  renderPage(`${ADDRESS}#scheduling-decisions`);
  expect(await screen.findByRole("link", { name: "Why" })).toHaveAttribute("aria-current", "page");
  expect(await screen.findByRole("table", { name: "Decisions" })).toBeVisible();
});

it("reads only what the tab shows", async () => {
  stored(jobDetail());
  const read = new Set<string>();
  server.events.on("request:start", ({ request }) => void read.add(new URL(request.url).pathname.replace(`/api/v1${ADDRESS}`, "")));
  const { user } = renderPage(`${ADDRESS}/configuration`);
  await screen.findByRole("region", { name: "Configuration" });
  expect([...read].filter((path) => /^\/(metrics|logs|events|why|speed|usage|startup|artifacts|checkpoints)/.test(path))).toEqual([]);
  await user.click(screen.getByRole("link", { name: "Events" }));
  await expect.poll(() => [...read]).toContain("/events");
  server.events.removeAllListeners();
});

it("draws where the attempts ran, and leads to the map", async () => {
  const placed = attempt({ placement: [{ node: "node-a", slots: [0, 1], n_servers: 1 }] as never });
  stored(jobDetail({ attempts: [placed], current_attempt: placed }));
  renderPage(`${ADDRESS}/placement`);
  const nodes = within(await screen.findByRole("list", { name: "Nodes of attempt 1" }));
  expect(nodes.getByRole("listitem")).toHaveTextContent("2 GPUs, 1 parameter server");
  expect(screen.getByRole("link", { name: "Show it on the cluster's map" })).toHaveAttribute("href", `/cluster?job=${ID}`);
});

it("says that the curve cannot be read, not that there is none, and reads it again", async () => {
  stored(jobDetail({ state: "succeeded", finished_at: "2026-03-02T10:00:00Z" }), { points: [point(10, 0.8), point(20, 0.4)] });
  let isBroken = true;
  server.use(
    http.get("/api/v1/jobs/:id/metrics", () =>
      isBroken ? problem(500, { code: "internal", title: "Curves are away" }) : HttpResponse.json({ series: [{ key: "train/loss", points: [point(10, 0.8), point(20, 0.4)], is_thinned: false }], cursor: "20" }),
    ),
  );
  const { user } = renderPage(ADDRESS);
  const card = await screen.findByRole("region", { name: "train/loss" });
  expect(await within(card).findByRole("alert")).toHaveTextContent("Curves are away");
  isBroken = false;
  await user.click(within(card).getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("link", { name: "All metrics" })).toBeVisible();
  expect(screen.queryByText("Curves are away")).toBeNull();
});
