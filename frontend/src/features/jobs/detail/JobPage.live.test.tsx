// SPDX-License-Identifier: Apache-2.0
// One job's page while it trains: metrics, log and events as they arrive, and what is missing of them.
import { act, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { JobDetail } from "@/api/types";
import { job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { problem, server } from "@/testing/server";
import { ADDRESS, event, latest, line, point, stored, stream } from "@/testing/storedJob";

const TWICE = {
  points: (source: EventSourceOf) => {
    source.emit("metrics", { points: [{ key: "train/loss", seq: 19, ...point(120, 0.8) }] }, "10-20");
    source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(130, 0.5) }] }, "10-21");
    source.emit("metrics", { points: [{ key: "eval/accuracy", seq: 22, ...point(130, 0.97) }] }, "10-22");
  },
  lines: (source: EventSourceOf) => source.emit("log", { lines: [line(19, "old line"), line(23, "new line")] }, "10-23"),
  events: (source: EventSourceOf) => {
    source.emit("event", event(11, "job.pause_asked"), "11-23");
    source.emit("event", event(11, "job.pause_asked"), "11-23");
  },
};
type EventSourceOf = Awaited<ReturnType<typeof stream>>;

function bring(source: EventSourceOf) {
  act(() => {
    source.open();
    TWICE.points(source);
    TWICE.lines(source);
    TWICE.events(source);
    source.emit("job", job({ steps_done: 300, progress: 0.5 }), "11-23");
  });
}

it("moves curve and progress as the stream brings them, and doubles nothing that comes twice", async () => {
  stored(jobDetail(), { points: [point(110, 0.9), point(120, 0.8)], lines: [line(19, "old line")] });
  const { user } = renderPage(`${ADDRESS}/metrics`);
  const source = await stream();
  expect(source.url).toContain("last_event_id=10-20");
  await expect.poll(() => latest("train/loss")).toEqual(["0.8", "120", "0.8", "0.9"]);
  bring(source);
  await expect.poll(() => latest("train/loss")).toEqual(["0.5", "130", "0.5", "0.9"]);
  expect(latest("eval/accuracy").slice(0, 2)).toEqual(["0.97", "130"]);
  expect(screen.getByText("· live")).toBeInTheDocument();
  await user.click(screen.getByRole("link", { name: "Overview" }));
  expect(screen.getByRole("progressbar", { name: "Progress" })).toHaveAttribute("aria-valuenow", "50");
  expect(screen.getByText("300 of 600 steps")).toBeInTheDocument();
});

it("adds to the log as the stream brings lines, each once", async () => {
  stored(jobDetail(), { lines: [line(19, "old line")] });
  renderPage(`${ADDRESS}/logs`);
  const source = await stream();
  await screen.findByText("old line", { exact: false });
  bring(source);
  const log = within(screen.getByRole("log", { name: "Log" }));
  await expect.poll(() => log.queryAllByText(/line$/).map((found) => found.textContent)).toEqual(["worker 0 old line", "worker 0 new line"]);
});

it("adds to the events as the stream brings them, each once", async () => {
  stored(jobDetail(), { events: [event(5, "job.submitted")] });
  renderPage(`${ADDRESS}/events`);
  const source = await stream();
  await screen.findByText("Submitted");
  bring(source);
  expect(await screen.findAllByText("Pause requested")).toHaveLength(1);
});

it("reads events of before it opened their tab, although the stream has brought newer ones", async () => {
  stored(jobDetail(), { events: [event(5, "job.submitted")] });
  const { user } = renderPage(ADDRESS);
  bring(await stream());
  await user.click(await screen.findByRole("link", { name: "Events" }));
  expect(await within(await screen.findByRole("table", { name: "Events" })).findByText("Submitted")).toBeVisible();
});

it("lets a resumed attempt take over its curve from where it began", async () => {
  stored(jobDetail(), { points: [point(100, 0.9), point(110, 0.1), point(120, 0.05)] });
  renderPage(`${ADDRESS}/metrics`);
  const source = await stream();
  await expect.poll(() => latest("train/loss")).toEqual(["0.05", "120", "0.05", "0.9"]);
  act(() => source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(105, 0.8, 2) }] }));
  await expect.poll(() => latest("train/loss")).toEqual(["0.8", "105", "0.8", "0.9"]);
});

it("reads over REST again when the stream has a gap, and keeps what it knew", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)] });
  const { user } = renderPage(`${ADDRESS}/metrics`);
  const source = await stream();
  await expect.poll(() => latest("train/loss")).toEqual(["0.9", "110", "0.9", "0.9"]);
  act(() => source.emit("metrics", { points: [{ key: "train/loss", seq: 21, ...point(120, 0.7) }] }));
  stored(jobDetail({ steps_done: 400 }), { points: [point(110, 0.9), point(130, 0.6)] });
  act(() => source.emit("gap", {}));
  await expect.poll(() => latest("train/loss")).toEqual(["0.6", "130", "0.6", "0.9"]);
  await user.click(screen.getByRole("link", { name: "Overview" }));
  expect(await screen.findByText("400 of 600 steps")).toBeInTheDocument();
});

it("reads its curves anew when one comes back to it: nobody listened meanwhile", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)] });
  const { router } = renderPage(`${ADDRESS}/metrics`);
  await expect.poll(() => latest("train/loss")).toEqual(["0.9", "110", "0.9", "0.9"]);
  await act(() => router.navigate("/tokens"));
  stored(jobDetail(), { points: [point(110, 0.9), point(120, 0.4), point(130, 0.6)] });
  await act(() => router.navigate(`${ADDRESS}/metrics`));
  await expect.poll(() => latest("train/loss")).toEqual(["0.6", "130", "0.4", "0.9"]);
});

it("shows log, events, attempts and decisions although the metrics cannot be read, and offers to try again", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)], lines: [line(19, "still here")], events: [event(5, "job.submitted")] });
  let isDown = true;
  server.use(
    http.get("/api/v1/jobs/:id/metrics", () =>
      isDown ? problem(503, { title: "Unavailable", detail: "The metrics' store is away." }) : undefined,
    ),
  );
  const { user } = renderPage(`${ADDRESS}/metrics`);
  const metrics = within(await screen.findByRole("region", { name: "Metrics" }));
  expect(await metrics.findByRole("alert")).toHaveTextContent("The metrics' store is away.");
  const tabs = within(screen.getByRole("navigation", { name: "Parts of the job" }));
  const open = (name: string) => user.click(tabs.getByRole("link", { name }));
  await open("Logs");
  expect(await screen.findByText("still here", { exact: false })).toBeVisible();
  await open("Events");
  expect(await within(await screen.findByRole("table", { name: "Events" })).findByText("Submitted")).toBeVisible();
  await open("Timeline");
  expect(await screen.findByRole("list", { name: "Attempts" })).toBeVisible();
  await open("Why");
  expect(await screen.findByRole("table", { name: "Decisions" })).toBeVisible();
  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  await open("Metrics");
  const again = within(await screen.findByRole("region", { name: "Metrics" }));
  expect(await again.findByRole("alert")).toBeVisible();

  isDown = false;
  await user.click(await again.findByRole("button", { name: "Try again" }));
  await expect.poll(() => latest("train/loss").slice(0, 2)).toEqual(["0.9", "110"]);
});

it("keeps the curves while the log cannot be read, and adds the lines that the stream brings", async () => {
  stored(jobDetail(), { points: [point(110, 0.9)] });
  server.use(http.get("/api/v1/jobs/:id/logs", () => problem(500, {})));
  const { user } = renderPage(`${ADDRESS}/metrics`);
  await screen.findByRole("row", { name: /train\/loss/ });
  await user.click(screen.getByRole("link", { name: "Logs" }));
  const log = within(await screen.findByRole("region", { name: "Log" }));
  expect(await log.findByRole("alert")).toHaveTextContent("Error 500");
  const source = await stream();
  act(() => source.emit("log", { lines: [line(23, "new line")] }, "10-23"));
  expect(await log.findByText("new line", { exact: false })).toBeVisible();
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
  const { user } = renderPage(`${ADDRESS}/logs`);
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
  const { user } = renderPage(`${ADDRESS}/logs`);
  const log = within(await screen.findByRole("log", { name: "Log" }));
  expect(within(screen.getByRole("status", { name: "Lines are missing" })).getByText("40 lines were dropped.")).toBeVisible();
  const classOf = (text: string) => log.getByText(text, { exact: false }).className;
  expect(classOf("before")).toBe(classOf("after"));
  expect(classOf("[40 lines")).not.toBe(classOf("after"));
  await user.click(screen.getByRole("link", { name: "Metrics" }));
  expect(within(await screen.findByRole("status", { name: "Points are missing" })).getByText("7 points were dropped.")).toBeVisible();
});

it("says which of its lines were removed, and after how long", async () => {
  const removed = { kind: "logs", before: "2026-03-02T12:00:00Z", kept_days: 90, n_removed: 7, at: "2026-05-31T12:00:00Z" } as const;
  stored(jobDetail({ state: "succeeded", finished_at: "2026-03-01T09:00:00Z", removed_parts: [removed] }));
  renderPage(`${ADDRESS}/logs`);
  const notes = await screen.findAllByRole("note");
  expect(notes).toHaveLength(1);
  expect(notes[0]).toHaveTextContent(/^Lines of attempts that ended before .*2026.* were removed after 90 days\.$/);
});
