// SPDX-License-Identifier: Apache-2.0
// The list of jobs, as its reader sees it.
import { act, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Job } from "@/api/types";
import { attempt, job, me } from "@/testing/fixtures";
import { FakeEventSource } from "@/testing/eventsource";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

import { consequences } from "./selection/bulk";

const table = async () => within(await screen.findByRole("table", { name: "Jobs" }));
const jobRow = async (name: RegExp | string) => (await table()).findByRole("row", { name });

beforeEach(() => localStorage.clear());

/** Answers with these jobs, or with those of the ids that are asked for; remembers the queries. */
function jobs(all: () => Job[]): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(query);
      const ids = query.get("id")?.split(",");
      return HttpResponse.json(page(ids !== undefined ? all().filter(({ id }) => ids.includes(id)) : all()));
    }),
  );
  return asked;
}

it("shows where each job stands, and why a waiting one waits", async () => {
  const waiting = job({
    id: "w",
    name: "second",
    state: "queued",
    current_attempt: null,
    progress: 0,
    explanations: [
      { reason: "no_free_gpus", sentence: "All 4 GPUs are in use; it needs 2.", facts: {} },
      { reason: "quota_gpus", sentence: "Not the first reason.", facts: {} },
    ],
  });
  jobs(() => [job({ progress: 0.2, tags: ["paper"], gpu_hours: 1.5 }), waiting]);
  renderPage("/jobs?columns=name,state,progress,outcome,workers,tags,gpu_hours");
  const rows = (await table()).getAllByRole("row").slice(1);
  expect(rows).toHaveLength(2);
  const [first, second] = rows.map((row) => within(row));
  expect(first?.getByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", `/jobs/${job().id}`);
  expect(first?.getByText("Running")).toBeInTheDocument();
  expect(first?.getByText("All-reduce · 2 workers")).toBeInTheDocument();
  expect(first?.getByRole("progressbar")).toHaveAttribute("value", "0.2");
  expect(first?.getByText("paper")).toBeInTheDocument();
  expect(first?.getByText("1.5 +")).toHaveAttribute("title", "Held by its ended attempts; what it holds now comes on top");
  expect(second?.getByText("Automatic · 1–4 workers")).toBeInTheDocument();
  expect(second?.getByText("All 4 GPUs are in use; it needs 2.")).toBeInTheDocument();
  expect(second?.queryByText("Not the first reason.")).not.toBeInTheDocument();
});

it("says of a notebook that the platform paused why it did", async () => {
  const pauseReason = "It was paused, since nothing was done in it for 30 min. Its folder is kept: resume it.";
  jobs(() => [job({ kind: "notebook", state: "paused", current_attempt: null, pause_reason: pauseReason })]);
  renderPage("/jobs");
  expect((await table()).getByText(pauseReason)).toBeVisible();
});

it("asks the API for what is searched, filtered and sorted, and remembers that in the address", async () => {
  const asked = jobs(() => [job()]);
  const { user, router } = renderPage("/jobs");
  await table();
  await user.selectOptions(screen.getByRole("combobox", { name: "State" }), "Failed");
  await expect.poll(() => asked.at(-1)?.get("state")).toBe("failed");
  await user.type(screen.getByRole("searchbox", { name: "Search" }), "cnn");
  await expect.poll(() => asked.at(-1)?.get("search")).toBe("cnn");
  await user.click((await table()).getByRole("button", { name: /GPU-hours/ }));
  await expect.poll(() => asked.at(-1)?.get("sort")).toBe("-gpu_hours");
  expect(router.state.location.search).toBe("?state=failed&search=cnn&sort=-gpu_hours");
  expect((await table()).getByRole("columnheader", { name: /GPU-hours/ })).toHaveAttribute("aria-sort", "descending");
});

it("asks for slow-downs and traffic while their columns are shown, and shows what is not measured as such, not as zero", async () => {
  const slowdown = { ratio: 1.5, basis: "measured" as const, resource: "gpu" };
  const alone = { ratio: 1, basis: "alone" as const, resource: "" };
  const asked = jobs(() => [
    job({ id: "a", name: "slowed", slowdown, network: { received_bytes_per_s: 2 * 1024 ** 2, sent_bytes_per_s: 1024 ** 2 } }),
    job({ id: "b", name: "alone", slowdown: alone, network: { received_bytes_per_s: null, sent_bytes_per_s: 0 } }),
    job({ id: "c", name: "unknown", slowdown: null, network: null }),
    job({ id: "d", name: "waiting", state: "queued", slowdown: null, network: null }),
  ]);
  const { user, router } = renderPage("/jobs");
  await table();
  expect(asked.at(-1)?.get("fields")?.split(",")).not.toContain("network");
  expect((await table()).queryByRole("columnheader", { name: "Slow-down" })).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Columns" }));
  await user.click(await screen.findByRole("checkbox", { name: "Slow-down" }));
  await user.click(await screen.findByRole("checkbox", { name: "Network" }));
  await expect.poll(() => asked.at(-1)?.get("fields")?.split(",").slice(-2)).toEqual(["slowdown", "network"]);
  expect(router.state.location.search).toContain("slowdown%2Cnetwork");
  const cells = async (name: RegExp) => within(await jobRow(name)).getAllByRole("cell").slice(-2);
  const [slow, traffic] = await cells(/slowed.*Running/);
  expect(slow).toHaveTextContent("50 % slower");
  expect(slow).toHaveAttribute("title", "the same GPU, measured");
  expect(traffic).toHaveTextContent("↓ 2 MiB/s ↑ 1 MiB/s");
  expect((await cells(/alone/)).map(({ textContent }) => textContent)).toEqual(["not slowed", "↓ not measured ↑ 0 B/s"]);
  expect((await cells(/unknown/)).map(({ textContent }) => textContent)).toEqual(["not measured", "not measured"]);
  expect((await cells(/waiting/)).map(({ textContent }) => textContent)).toEqual(["–", "–"]);
});

it("finds the owner of a job among the people and service accounts of one's organisations", async () => {
  const asked = jobs(() => [job()]);
  server.use(
    answers("/api/v1/organisations/{id}/members", page([{ id: "m1", user: { id: "u9", username: "olga" }, role: "member" }])),
    answers("/api/v1/organisations/{id}/service-accounts", page([])),
  );
  const { user, router } = renderPage("/jobs");
  await user.click(await screen.findByRole("combobox", { name: "Owner" }));
  await user.click(await screen.findByRole("option", { name: "olga" }));
  await expect.poll(() => asked.at(-1)?.get("owner")).toBe("olga");
  expect(router.state.location.search).toBe("?owner=olga");
});

it("offers oneself as the owner where no organisation shows its members", async () => {
  jobs(() => [job()]);
  server.use(http.get("/api/v1/organisations/:id/members", () => HttpResponse.json({ detail: "no" }, { status: 403 })));
  const { user, router } = renderPage("/jobs");
  await user.click(await screen.findByRole("combobox", { name: "Owner" }));
  await user.click(await screen.findByRole("option", { name: me().username }));
  await expect.poll(() => router.state.location.search).toBe(`?owner=${me().username}`);
});

it("draws the rows in view only, and reads the next page when one comes near the end", async () => {
  const asked: (string | null)[] = [];
  const many = (first: number) => Array.from({ length: 100 }, (_, n) => job({ id: `j${first + n}`, name: `job ${first + n}` }));
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      const cursor = new URL(request.url).searchParams.get("cursor");
      asked.push(cursor);
      const next = cursor === null ? "http://testserver/api/v1/jobs?cursor=two" : null;
      return HttpResponse.json({ ...page(many(cursor === null ? 0 : 100)), next });
    }),
  );
  renderPage("/jobs");
  const rows = (await table()).getAllByRole("row");
  expect(rows.length).toBeLessThan(60);
  expect(asked).toEqual([null]);
  expect(screen.getByText("The first 100 jobs; more come as you scroll.")).toBeInTheDocument();
});

it("reads a job again when the stream brings news of it, and shows a new one at the top", async () => {
  let known = [job({ name: "first" })];
  const asked = jobs(() => known);
  renderPage("/jobs");
  expect(await jobRow(/first/)).toHaveTextContent("Running");
  known = [job({ id: "n", name: "newer", submitted_at: "2026-03-02T10:00:00Z" }), job({ name: "first", state: "succeeded" })];
  act(() => {
    for (const { id } of known) FakeEventSource.of("/api/v1/stream").emit("event", { subject_kind: "job", subject_id: id });
  });
  expect(await jobRow(/newer/)).toBeInTheDocument();
  expect(await jobRow(/first/)).toHaveTextContent("Succeeded");
  expect((await table()).getAllByRole("row").slice(1).map((row) => row.textContent)).toEqual([
    expect.stringContaining("newer"),
    expect.stringContaining("first"),
  ]);
  expect(asked).toHaveLength(2); // the list once, and once the two jobs that changed
});

it("does one thing to all selected jobs, once it has said what that means, and names what was refused", async () => {
  const over = job({ id: "b", name: "over", state: "succeeded", current_attempt: attempt({ ended_at: "2026-03-02T09:30:00Z" }) });
  jobs(() => [job({ id: "a", name: "running" }), over]);
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/jobs/bulk", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({
        outcomes: [
          { id: "a", name: "running", refusal: "", remedy: "" },
          { id: "b", name: "over", refusal: "The job has ended: it succeeded.", remedy: "Clone it to run it again." },
        ],
      });
    }),
  );
  const { user } = renderPage("/jobs");
  await user.click(within(await jobRow(/running/)).getByRole("checkbox"));
  await user.click(within(await jobRow(/over/)).getByRole("checkbox"));
  const bar = within(screen.getByRole("region", { name: "Selected jobs" }));
  expect(bar.getByText("2 jobs selected")).toBeInTheDocument();
  expect(bar.getByRole("link", { name: "Compare" })).toHaveAttribute("href", "/compare?jobs=a,b");
  await user.click(bar.getByRole("button", { name: "Cancel" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/1 job: training stops, and 2 GPUs are given back/)).toBeInTheDocument();
  expect(dialog.getByText("1 job: they have ended, and stay as they are.")).toBeInTheDocument();
  expect(sent).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Cancel 2 jobs" }));
  expect(await dialog.findByText("over: The job has ended: it succeeded. Clone it to run it again.")).toBeInTheDocument();
  expect(sent).toEqual([{ action: "cancel", jobs: ["a", "b"], tag: "" }]);
});

it.each([
  { act: "Pause", sent: { action: "pause", tag: "" }, done: "Paused: 2 jobs.", back: { action: "resume", jobs: ["a", "c"], tag: "" } },
  { act: "Resume", sent: { action: "resume", tag: "" }, done: "Resumed: 1 job.", back: { action: "pause", jobs: ["b"], tag: "" } },
  { act: "Tag", sent: { action: "tag", tag: "paper" }, done: "Tagged paper: 2 jobs.", back: { action: "untag", jobs: ["b", "c"], tag: "paper" } },
  { act: "Remove tag", sent: { action: "untag", tag: "paper" }, done: "No longer tagged paper: 1 job.", back: { action: "tag", jobs: ["a"], tag: "paper" } },
])("takes $act back where it changed something", async ({ act: name, sent: first, done, back }) => {
  jobs(() => [
    job({ id: "a", name: "first", tags: ["paper"] }),
    job({ id: "b", name: "second", state: "paused", current_attempt: null }),
    job({ id: "c", name: "third", state: "queued", current_attempt: null }),
  ]);
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/jobs/bulk", async ({ request }) => {
      const body = (await request.json()) as { jobs: string[] };
      sent.push(body);
      return HttpResponse.json({ outcomes: body.jobs.map((id) => ({ id, name: id, refusal: "", remedy: "" })) });
    }),
  );
  const { user } = renderPage("/jobs");
  for (const row of [/first/, /second/, /third/]) await user.click(within(await jobRow(row)).getByRole("checkbox"));
  const bar = within(screen.getByRole("region", { name: "Selected jobs" }));
  await user.click(bar.getByRole("button", { name }));
  const dialog = within(await screen.findByRole("dialog"));
  if (first.tag !== "") await user.type(dialog.getByLabelText("Tag"), first.tag);
  await user.click(dialog.getByRole("button", { name: `${name} 3 jobs` }));
  expect(await screen.findByText(done)).toBeInTheDocument();
  await user.click(bar.getByRole("button", { name: "Clear selection" })); // what was done can be taken back still
  await user.click(within(screen.getByRole("region", { name: "What was done" })).getByRole("button", { name: "Undo" }));
  await expect.poll(() => screen.queryByRole("region", { name: "What was done" })).toBeNull();
  expect(sent).toEqual([{ ...first, jobs: ["a", "b", "c"] }, back]);
});

it("gives many jobs a priority, and each its own one back", async () => {
  jobs(() => [job({ id: "a", name: "first", priority: 3 }), job({ id: "b", name: "second", priority: -1 }), job({ id: "c", name: "third", priority: 9 })]);
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/jobs/bulk", async ({ request }) => {
      const body = (await request.json()) as { jobs: string[] };
      sent.push(body);
      return HttpResponse.json({ outcomes: body.jobs.map((id) => ({ id, name: id, refusal: "", remedy: "" })) });
    }),
  );
  const { user } = renderPage("/jobs");
  for (const row of [/first/, /second/, /third/]) await user.click(within(await jobRow(row)).getByRole("checkbox"));
  await user.click(screen.getByRole("button", { name: "Priority" }));
  const dialog = within(await screen.findByRole("dialog"));
  const give = dialog.getByRole("button", { name: "Priority 3 jobs" });
  expect(give).toBeDisabled();
  await user.type(dialog.getByLabelText("Priority"), "9");
  await user.click(give);
  expect(await screen.findByText("Another priority: 2 jobs.")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Undo" }));
  await expect.poll(() => screen.queryByRole("region", { name: "What was done" })).toBeNull();
  expect(sent).toEqual([
    { action: "priority", jobs: ["a", "b", "c"], tag: "", priority: 9 },
    { action: "priority", jobs: ["a"], tag: "", priority: 3 },
    { action: "priority", jobs: ["b"], tag: "", priority: -1 },
  ]);
});

it("names the jobs that could not be taken back", async () => {
  jobs(() => [job({ id: "a", name: "first" })]);
  let refusal = "";
  server.use(http.post("/api/v1/jobs/bulk", () => HttpResponse.json({ outcomes: [{ id: "a", name: "first", refusal, remedy: "" }] })));
  const { user } = renderPage("/jobs");
  await user.click(within(await jobRow(/first/)).getByRole("checkbox"));
  await user.click(screen.getByRole("button", { name: "Pause" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Pause 1 job" }));
  await screen.findByText("Paused: 1 job.");
  refusal = "The job has ended: it was cancelled.";
  await user.click(screen.getByRole("button", { name: "Undo" }));
  expect(await screen.findByText("first: The job has ended: it was cancelled.")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Undo" })).not.toBeInTheDocument();
});

it("walks and selects rows by the keyboard", async () => {
  jobs(() => [job({ id: "a", name: "one" }), job({ id: "b", name: "two" })]);
  const { user, router } = renderPage("/jobs");
  (await screen.findByRole("table", { name: "Jobs" })).focus();
  const focused = () => document.activeElement?.getAttribute("aria-rowindex");
  await user.keyboard("j");
  await expect.poll(focused).toBe("2");
  await user.keyboard("j");
  await expect.poll(focused).toBe("3");
  await user.keyboard("x");
  expect(await screen.findByText("1 job selected")).toBeInTheDocument();
  await user.keyboard("{Enter}");
  await expect.poll(() => router.state.location.search).toBe("?job=b");
});

it("begins to walk the rows where nothing has the focus, and not while one types", async () => {
  jobs(() => [job({ id: "a", name: "one" }), job({ id: "b", name: "two" })]);
  const { user } = renderPage("/jobs");
  await screen.findByRole("link", { name: "one" });
  const focused = () => document.activeElement?.getAttribute("aria-rowindex");
  const search = screen.getByRole("searchbox");
  await user.click(search);
  await user.keyboard("j");
  expect(search).toHaveValue("j");
  search.blur();
  await user.keyboard("j");
  await expect.poll(focused).toBe("2");
});

it("keeps the chosen columns in the address and for the next time, and views by name", async () => {
  jobs(() => [job()]);
  const { user, router } = renderPage("/jobs?state=running");
  await table();
  await user.click(screen.getByRole("button", { name: "Columns" }));
  await user.click(await screen.findByRole("checkbox", { name: "Dataset" }));
  expect(await (await table()).findByRole("columnheader", { name: "Dataset" })).toBeInTheDocument();
  expect(router.state.location.search).toContain("dataset");
  expect(localStorage.getItem("mlhub-job-columns")).toContain("dataset");
});

it("says what to do first when there is no job", async () => {
  jobs(() => []);
  renderPage("/jobs");
  expect(await screen.findByText(/First upload a dataset/)).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "Upload a dataset" })).toHaveAttribute("href", "/datasets");
});

it("says of a deletion what is lost, and what is refused", () => {
  expect(consequences("delete", [job(), job({ state: "failed" })])).toEqual([
    "1 job: deleted for good, with attempts, curves, logs, checkpoints and predictions. Trained models stay.",
    "1 job: they have not ended, and are refused: cancel them first.",
  ]);
});
