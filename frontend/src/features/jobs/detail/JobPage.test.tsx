// SPDX-License-Identifier: Apache-2.0
// One job's page: why it waits, how it moves live, why it failed, and what can be done to it.
import { act, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Event, JobDetail, LogLine, MetricName, Point } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { attempt, dataset, decision, job, jobDetail, speed, why } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const ID = job().id;
const ADDRESS = `/jobs/${ID}`;
const STREAM = `/api/v1/jobs/${ID}/stream`;

function point(step: number, value: number, attempt_number = 1): Point {
  return { step, epoch: step / 100, value, at: "2026-03-02T09:00:00Z", attempt_number };
}

function line(seq: number, text: string, index = 0): LogLine {
  return { seq, at: null, attempt_number: 1, role: "worker", index, number: seq, text, n_dropped: 0 };
}

function event(id: number, kind: string): Event {
  return { id, kind, organisation: null, subject_kind: "job", subject_id: ID, actor: null, at: "2026-03-02T09:00:00Z", facts: {} };
}

/** The entry of train/loss in the list of names. */
function nameOf(points: Point[]): MetricName {
  const last = points.at(-1) ?? point(0, 0);
  const { step: last_step, value: last_value, attempt_number } = last;
  return { key: "train/loss", n_points: points.length, last_step, last_value, attempt_number };
}

interface Stored {
  points?: Point[];
  lines?: LogLine[];
  events?: Event[];
}

function stored(detail: JobDetail, { points = [], lines = [], events = [] }: Stored = {}) {
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/metrics/names", { names: points.length === 0 ? [] : [nameOf(points)], next: null }),
    answers("/api/v1/jobs/{id}/metrics", { series: [{ key: "train/loss", points, is_thinned: false }], cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs", { lines, is_end: true, n_found: null, cursor: "20" }),
    answers("/api/v1/jobs/{id}/events", page(events)),
  );
}

/** The stream, once the page listens to it. */
async function stream(): Promise<FakeEventSource> {
  await expect.poll(() => FakeEventSource.instances.some(({ url }) => url.startsWith(STREAM))).toBe(true);
  return FakeEventSource.of(STREAM);
}

/** The cells of a metric's row; none until the charts are there. */
function latest(key: string): (string | null)[] {
  const row = screen.queryByRole("row", { name: new RegExp(key) });
  return row === null ? [] : within(row).getAllByRole("cell").map((cell) => cell.textContent);
}

it("says why a job waits, with every reason and its numbers", async () => {
  const explanations = [
    { reason: "no_free_gpus", sentence: "All 4 GPUs are in use; it needs 2.", facts: { total: 4, need: 2 } },
    { reason: "quota_running_jobs", sentence: "Acme runs 2 of its 2 jobs at once.", facts: { used: 2, quota: 2 } },
  ];
  stored(jobDetail({ state: "queued", current_attempt: null, attempts: [], explanations }));
  renderPage(ADDRESS);
  const why = within(await screen.findByRole("status", { name: "Why it is pending" }));
  expect(why.getByText("All 4 GPUs are in use; it needs 2.")).toBeInTheDocument();
  expect(why.getByText("Total: 4 · Need: 2")).toBeInTheDocument();
  expect(why.getByText("Acme runs 2 of its 2 jobs at once.")).toBeInTheDocument();
});

it("moves curve, progress, log and events as the stream brings them, and doubles nothing that comes twice", async () => {
  stored(jobDetail(), { points: [point(110, 0.9), point(120, 0.8)], lines: [line(19, "old line")] });
  renderPage(ADDRESS);
  const source = await stream();
  expect(source.url).toContain("last_event_id=10-20");
  await expect.poll(() => latest("train/loss")).toEqual(["0.8", "120", "0.8", "0.9"]);
  await screen.findByText("old line", { exact: false });

  act(() => {
    source.open();
    source.emit("metrics", { points: [{ key: "train/loss", seq: 19, ...point(120, 0.8) }] }, "10-20");
    source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(130, 0.5) }] }, "10-21");
    source.emit("metrics", { points: [{ key: "eval/accuracy", seq: 22, ...point(130, 0.97) }] }, "10-22");
    source.emit("log", { lines: [line(19, "old line"), line(23, "new line")] }, "10-23");
    source.emit("event", event(11, "job.pause_asked"), "11-23");
    source.emit("event", event(11, "job.pause_asked"), "11-23");
    source.emit("job", job({ steps_done: 300, progress: 0.5 }), "11-23");
  });
  await expect.poll(() => latest("train/loss")).toEqual(["0.5", "130", "0.5", "0.9"]);
  expect(latest("eval/accuracy").slice(0, 2)).toEqual(["0.97", "130"]);
  expect(screen.getByRole("progressbar", { name: "Progress" })).toHaveAttribute("aria-valuenow", "50");
  expect(screen.getByText("300 of 600 steps")).toBeInTheDocument();
  const log = within(screen.getByRole("log", { name: "Log" }));
  expect(log.getAllByText(/line$/).map((found) => found.textContent)).toEqual([
    "worker 0 old line",
    "worker 0 new line",
  ]);
  expect(screen.getAllByText("Pause requested")).toHaveLength(1);
  expect(screen.getByText("· live")).toBeInTheDocument();
});

it("lets a resumed attempt take over its curve from where it began", async () => {
  stored(jobDetail(), { points: [point(100, 0.9), point(110, 0.1), point(120, 0.05)] });
  renderPage(ADDRESS);
  const source = await stream();
  await expect.poll(() => latest("train/loss")).toEqual(["0.05", "120", "0.05", "0.9"]);
  act(() => source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(105, 0.8, 2) }] }));
  await expect.poll(() => latest("train/loss")).toEqual(["0.8", "105", "0.8", "0.9"]);
});

it("reads over REST again when the stream has a gap, and keeps what it knew", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)] });
  renderPage(ADDRESS);
  const source = await stream();
  act(() => source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(120, 0.7) }] }));
  stored(jobDetail({ steps_done: 400 }), { points: [point(110, 0.9), point(130, 0.6)] });
  act(() => source.emit("gap", {}));
  expect(await screen.findByText("400 of 600 steps")).toBeInTheDocument();
  await expect.poll(() => latest("train/loss")).toEqual(["0.6", "130", "0.6", "0.9"]);
});

it("shows log, events, attempts and decisions although the metrics cannot be read, and offers to try again", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)], lines: [line(19, "still here")], events: [event(5, "job.submitted")] });
  let isDown = true;
  server.use(
    http.get("/api/v1/jobs/:id/metrics", () =>
      isDown ? problem(503, { title: "Unavailable", detail: "The metrics' store is away." }) : undefined,
    ),
  );
  const { user } = renderPage(ADDRESS);
  const metrics = within(await screen.findByRole("region", { name: "Metrics" }));
  expect(await metrics.findByRole("alert")).toHaveTextContent("The metrics' store is away.");
  expect(await screen.findByText("still here", { exact: false })).toBeVisible();
  expect(within(screen.getByRole("table", { name: "Events" })).getByText("Submitted")).toBeVisible();
  expect(screen.getByRole("list", { name: "Attempts" })).toBeVisible();
  expect(await screen.findByRole("table", { name: "Decisions" })).toBeVisible();
  expect(screen.getAllByRole("alert")).toHaveLength(1);

  isDown = false;
  await user.click(metrics.getByRole("button", { name: "Try again" }));
  await expect.poll(() => latest("train/loss").slice(0, 2)).toEqual(["0.9", "110"]);
});

it("keeps the curves while the log cannot be read, and adds the lines that the stream brings", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)] });
  server.use(http.get("/api/v1/jobs/:id/logs", () => problem(500, {})));
  renderPage(ADDRESS);
  await screen.findByRole("row", { name: /train\/loss/ });
  const log = within(screen.getByRole("region", { name: "Log" }));
  expect(await log.findByRole("alert")).toHaveTextContent("Error 500");
  const source = await stream();
  act(() => source.emit("log", { lines: [line(23, "new line")] }, "10-23"));
  expect(await log.findByText("new line", { exact: false })).toBeVisible();
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
  renderPage(ADDRESS);
  const configuration = within(await screen.findByRole("region", { name: "Configuration" }));
  const valueOf = (label: string) => configuration.getByText(label).nextElementSibling;
  expect(valueOf("CPUs per worker")).toHaveTextContent(/^2$/);
  expect(valueOf("Memory per worker")).toHaveTextContent("4 GiB");
  expect(valueOf("Stall limit")).toHaveTextContent("15 min 00 s");
  expect(configuration.queryByText("Parameter servers")).not.toBeInTheDocument();
  expect(configuration.getByRole("note")).toHaveTextContent(hint);
});

it("goes to the clone", async () => {
  stored(jobDetail({ state: "succeeded" }));
  const clone = "00000000-0000-7000-8000-0000000000ff";
  server.use(
    http.post(`/api/v1/jobs/${ID}/clone`, () => HttpResponse.json(job({ id: clone }) as object, { status: 201 })),
    http.get(`/api/v1/jobs/${clone}`, () =>
      HttpResponse.json(jobDetail({ id: clone, name: "digits-cnn again" }) as object),
    ),
  );
  const { user } = renderPage(ADDRESS);
  await user.click(await screen.findByRole("button", { name: "Clone" }));
  expect(await screen.findByRole("heading", { name: "digits-cnn again" })).toBeInTheDocument();
});

it("hands out the trained model and its final metrics", async () => {
  const version = "00000000-0000-7000-8000-0000000000aa";
  stored(jobDetail({ state: "succeeded", result_version: version, result_metrics: { "eval/accuracy": 0.973 } }));
  renderPage(ADDRESS);
  const result = within(await screen.findByRole("region", { name: "Result" }));
  expect(result.getByText("0.973")).toBeInTheDocument();
  expect(result.getByRole("link", { name: "Weights" })).toHaveAttribute(
    "href",
    `/api/v1/model-versions/${version}/download?what=weights`,
  );
  const model = job().model_version.model.id;
  expect(result.getByRole("link", { name: /All versions/ })).toHaveAttribute("href", `/models/${model}`);
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
  renderPage(ADDRESS);
  const items = within(await screen.findByRole("list", { name: "Attempts" })).getAllByRole("listitem");
  expect(items[0]).toHaveTextContent("#1 · Parameter server · 2 workers + 1 server");
  expect(items[0]).toHaveTextContent("Preempted · It made room for others.");
  expect(items[1]).toHaveTextContent("#2 · All-reduce · 4 workers · steps 90–200");
});

it("shows the lines of one pod when asked to", async () => {
  const all = [line(1, "from zero", 0), line(2, "from one", 1)];
  stored(jobDetail());
  server.use(
    http.get("/api/v1/jobs/:id/logs", ({ request }) => {
      const index = new URL(request.url).searchParams.get("index");
      const lines = all.filter((one) => index === null || one.index === Number(index));
      return HttpResponse.json({ lines, is_end: true, n_found: null, cursor: "10-20" });
    }),
  );
  const { user } = renderPage(ADDRESS);
  await user.selectOptions(await screen.findByRole("combobox", { name: "Pod" }), "worker 1");
  const shown = () => [...screen.getByRole("log", { name: "Log" }).querySelectorAll("[data-index]")];
  await expect.poll(() => shown().map(({ textContent }) => textContent)).toEqual(["worker 1 from one"]);
});

it("says what was dropped, by which limit, and marks where lines are missing", async () => {
  const dropped: JobDetail["dropped"] = [
    { limit: "log_rate", part: "log", n: 40, sentence: "40 lines were dropped." },
    { limit: "metrics_per_job", part: "metrics", n: 7, sentence: "7 points were dropped." },
  ];
  const mark = { ...line(2, "[40 lines were dropped here]"), n_dropped: 40 };
  stored(jobDetail({ dropped }), { lines: [line(1, "before"), mark, line(42, "after")] });
  renderPage(ADDRESS);
  const log = within(await screen.findByRole("log", { name: "Log" }));
  expect(within(screen.getByRole("status", { name: "Lines are missing" })).getByText("40 lines were dropped.")).toBeVisible();
  expect(within(screen.getByRole("status", { name: "Points are missing" })).getByText("7 points were dropped.")).toBeVisible();
  const classOf = (text: string) => log.getByText(text, { exact: false }).className;
  expect(classOf("before")).toBe(classOf("after"));
  expect(classOf("[40 lines")).not.toBe(classOf("after"));
});

it("shows those who may only look no buttons", async () => {
  stored(jobDetail());
  const organisation = job().project.organisation;
  server.use(
    answers("/api/v1/auth/me", {
      id: "u",
      username: "vera",
      is_staff: false,
      memberships: [{ organisation, role: "viewer" }],
    }),
  );
  renderPage(ADDRESS);
  expect(await screen.findByRole("heading", { name: "digits-cnn" })).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Clone" })).not.toBeInTheDocument();
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
  renderPage(ADDRESS);
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
  renderPage(ADDRESS);
  const card = await screen.findByRole("region", { name: "Profile" });
  expect(card).toHaveTextContent("With cnn on digits on the same GPU a step of attempt 1 took 1.50 ± 0.03 times as long");
  expect(card).toHaveTextContent("Attempt 2 reported step_s -3 (4 times). A time is not negative.");
});

it("shows where a step's time goes and how stale gradients were", async () => {
  const samples = [speed({ staleness: [6, 3, 1], n_discarded: 2 })];
  server.use(answers("/api/v1/jobs/{id}/speed", { samples, slowdowns: [], refused: [] }));
  stored(jobDetail());
  renderPage(ADDRESS);
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
  expect(dialog.getByRole("button", { name: "Start" })).toBeDisabled();
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
  expect(screen.getByText("held-out examples")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Predict" })).not.toBeInTheDocument();
});

it("says which of its lines were removed, and after how long", async () => {
  const removed = { kind: "logs", before: "2026-03-02T12:00:00Z", kept_days: 90, n_removed: 7, at: "2026-05-31T12:00:00Z" } as const;
  stored(jobDetail({ state: "succeeded", finished_at: "2026-03-01T09:00:00Z", removed_parts: [removed] }));
  renderPage(ADDRESS);
  const notes = await screen.findAllByRole("note");
  expect(notes).toHaveLength(1);
  expect(notes[0]).toHaveTextContent(/^Lines of attempts that ended before .*2026.* were removed after 90 days\.$/);
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
    }),
  );
  renderPage(ADDRESS);
  expect(await screen.findByText("Start-up: 8.1 s, of which importing 6.1 s")).toBeInTheDocument();
  const phases = within(screen.getByRole("list", { name: "Phases of the start" }));
  expect(phases.getAllByRole("listitem").map((found) => found.textContent)).toEqual(["Validation 2 s", "Importing 6.1 s"]);
  expect(screen.getByRole("link", { name: /same content and settings/ })).toHaveAttribute("href", `/jobs/${earlier}`);
});
