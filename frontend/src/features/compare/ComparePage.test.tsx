// SPDX-License-Identifier: Apache-2.0
// Comparing jobs: which curves are asked for, what differs, and that the address says all of it.
import { act, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import { JOBS, compared } from "@/testing/comparedAnswers";
import { FakeEventSource } from "@/testing/eventsource";
import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { page, server } from "@/testing/server";

import { tableText } from "./baseline";
import { csvOfLines } from "./CurvesSection";
import { rowOfJob } from "./settings";

it("asks for the curves while the jobs are still read", async () => {
  const asked = compared();
  let answer: () => void = () => undefined;
  const isAnswered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  server.use(
    http.get("/api/v1/jobs", async () => {
      await isAnswered;
      return HttpResponse.json(page(JOBS));
    }),
  );
  renderPage("/compare?jobs=a,b");
  await expect.poll(() => asked).toMatchObject([{ jobs: ["a", "b"], metric: "eval/loss", axis: "step" }]);
  answer();
  expect(await screen.findByRole("figure", { name: /eval\/loss/ })).toBeVisible();
  expect(asked).toHaveLength(1);
});

it("shows what differs only, or all, and remembers that in the address", async () => {
  compared();
  const { user, router } = renderPage("/compare?jobs=b,a");
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  const heads = () => table.getAllByRole("columnheader").map(({ textContent }) => textContent);
  expect(heads()).toEqual(["Job", "State", "lr", "eval/loss"]);
  expect(table.getAllByRole("rowheader").map(({ textContent }) => textContent)).toEqual(["fast", "slow"]);
  // a name in a right-to-left script turns itself alone, not the pin and the colour beside it
  expect(table.getByRole("link", { name: "fast" })).toHaveAttribute("dir", "auto");
  expect(table.getAllByRole("rowheader")[0]).not.toHaveAttribute("dir");
  await user.click(screen.getByRole("switch", { name: "Only what differs" }));
  expect(heads()).toContain("momentum");
  expect(router.state.location.search).toBe("?jobs=b%2Ca&same=1");
});

it("asks which metrics there are while the jobs are still read", async () => {
  compared();
  let ask: () => void = () => undefined;
  const metricsAreAsked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  server.use(
    http.get("/api/v1/jobs", async () => {
      await metricsAreAsked;
      return HttpResponse.json(page(JOBS));
    }),
    http.post("/api/v1/jobs/compare/metrics", () => {
      ask();
      return HttpResponse.json({ metrics: [{ key: "eval/loss", n_jobs: 2 }], n_metrics: 1 });
    }),
  );
  renderPage("/compare?jobs=b,a");
  expect(await screen.findByRole("table", { name: "What differs" })).toBeVisible();
});

it("asks for the metric that most jobs have, and for another over another axis when these are chosen", async () => {
  const asked = compared();
  const { user, router } = renderPage("/compare?jobs=a,b");
  await expect.poll(() => asked.at(-1)).toEqual({ jobs: ["a", "b"], metric: "eval/loss", axis: "step", max_points: 800 });
  await user.selectOptions(await screen.findByRole("combobox", { name: "Over" }), "GPU-hours");
  await user.selectOptions(screen.getByRole("combobox", { name: "Metric" }), "train/loss");
  await expect.poll(() => asked.at(-1)).toMatchObject({ metric: "train/loss", axis: "gpu_hours" });
  expect(router.state.location.search).toContain("axis=gpu_hours");
  expect(await screen.findByRole("figure", { name: "train/loss of 2 jobs by gpu-hours" })).toBeInTheDocument();
});

it("finds a metric by a part of its name where jobs have more than are listed", async () => {
  const asked = compared();
  const keys = Array.from({ length: 1000 }, (_, n) => ({ key: `unit/${n}`, n_jobs: 2 }));
  server.use(
    http.post("/api/v1/jobs/compare/metrics", async ({ request }) => {
      const { search = "" } = (await request.json()) as { search?: string };
      const found = keys.filter(({ key }) => key.includes(search));
      return HttpResponse.json({ metrics: found.slice(0, 400), n_metrics: found.length });
    }),
  );
  const { user } = renderPage("/compare?jobs=a,b");
  await expect.poll(() => asked.at(-1)?.metric).toBe("unit/0");
  await waitFor(() => expect(screen.getByRole("combobox", { name: "Metric" })).toHaveValue("unit/0 (2 jobs)"));
  const field = screen.getByRole("combobox", { name: "Metric" });
  await user.clear(field);
  await user.type(field, "unit/999");
  await user.click(await screen.findByRole("option", { name: "unit/999 (2 jobs)" }));
  await expect.poll(() => asked.at(-1)?.metric).toBe("unit/999");
});

it("compares a thousand jobs by bounded questions, with their ids in the fragment", async () => {
  const many = Array.from({ length: 1000 }, (_, n) => job({ id: `j${n}`, name: `job ${n}`, hyperparameters: { lr: n } }));
  const asked = compared(many);
  renderPage(`/compare#jobs=${many.map(({ id }) => id).join(",")}`);
  await expect.poll(() => asked.length).toBe(5);
  expect(asked.map(({ jobs }) => jobs.length)).toEqual([200, 200, 200, 200, 200]);
  expect(asked.every(({ jobs, max_points }) => jobs.length * max_points <= 8000)).toBe(true);
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(table.getAllByRole("row").length).toBeLessThan(60);
});

it("reads the jobs again that events are about, together, and none for events of other jobs", async () => {
  compared();
  renderPage("/compare?jobs=a,b");
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  const asked: (string | null)[] = [];
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      asked.push(new URL(request.url).searchParams.get("id"));
      return HttpResponse.json(page([{ ...JOBS[0], name: "renamed" }])); // b has been deleted
    }),
  );
  const stream = FakeEventSource.of("/api/v1/stream");
  act(() => {
    for (const id of ["x", "a", "y", "b", "a"]) stream.emit("event", { subject_kind: "job", subject_id: id });
  });
  await table.findByText("renamed");
  expect(table.queryByText("fast")).toBeNull();
  expect(asked.filter((ids) => ids !== null)).toEqual(["a,b"]);
});

it("says where to select jobs when there are none", async () => {
  renderPage("/compare");
  expect(await screen.findByRole("link", { name: "Select jobs" })).toHaveAttribute("href", "/jobs");
});

it("pins a baseline: it stays on top, others show how far they are, and so does the CSV", async () => {
  compared();
  const { user, router } = renderPage("/compare?jobs=a,b");
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  await user.click(table.getByRole("button", { name: "Baseline: fast" }));
  expect(router.state.location.search).toContain("baseline=b");
  expect(table.getAllByRole("rowheader").map(({ textContent }) => textContent)).toEqual(["fast", "slow"]);
  expect(table.getByRole("row", { name: /slow .* 0.001 −0.099 0.7 \+0.4/ })).toBeVisible();
  expect(screen.getByText("Compared with fast")).toBeVisible();
  await user.click(table.getByRole("button", { name: "Baseline: fast", pressed: true }));
  expect(router.state.location.search).not.toContain("baseline");
  expect(table.queryByText("+0.4")).toBeNull();
});

it("writes the table as CSV, with differences from the baseline where there is one", () => {
  const rows = JOBS.map(rowOfJob);
  expect(tableText(rows, ["lr", "Mode"], "")).toMatch(/^job,name,state,lr,Mode\r\na,slow,succeeded,0.001,/);
  const lines = tableText(rows, ["lr", "eval/loss"], "b").split("\r\n");
  expect(lines.slice(0, 3)).toEqual([
    "job,name,state,lr,lr (difference),eval/loss,eval/loss (difference)",
    "a,slow,succeeded,0.001,-0.099,0.7,0.4",
    "b,fast,succeeded,0.1,0,0.3,0",
  ]);
});

it("makes only the columns in view of a hundred settings, and says how many there are", async () => {
  const width = vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(1000);
  const settings = (n: number) => Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${String(at).padStart(2, "0")}`, at + n]));
  compared([job({ id: "a", name: "slow", hyperparameters: settings(0) }), job({ id: "b", name: "fast", hyperparameters: settings(1) })]);
  renderPage("/compare?jobs=a,b");
  const table = await screen.findByRole("table", { name: "What differs" });
  await expect.poll(() => within(table).queryAllByRole("columnheader").length).toBeGreaterThan(4);
  const heads = within(table).getAllByRole("columnheader");
  expect(heads.length).toBeLessThan(20);
  expect(Number(table.getAttribute("aria-colcount"))).toBeGreaterThanOrEqual(102);
  expect(heads[2]).toHaveTextContent("p00");
  expect(heads[2]).toHaveAttribute("aria-colindex", "3");
  const [first] = within(table).getAllByRole("row", { name: /slow/ });
  expect(first && within(first).getAllByRole("cell")).toHaveLength(heads.length - 1);
  width.mockRestore();
});

it("writes curves as CSV with names that no spreadsheet runs", () => {
  const lines = [{ id: "a", label: '=1+"x"', x: [0, 1], y: [2, null] }];
  expect(csvOfLines(lines, "step", "loss")).toBe('job,name,step,loss\r\na,"\'=1+""x""",0,2\r\na,"\'=1+""x""",1,\r\n');
});

it("compares nothing where nothing of the address is there", async () => {
  compared([]);
  renderPage("/compare?jobs=gone,foreign");
  expect(await screen.findByText(/^2 of those in the address are not there any more/)).toBeVisible();
  expect(screen.getByRole("link", { name: "Select jobs" })).toHaveAttribute("href", "/jobs");
  expect(screen.queryByText(/^These jobs/)).toBeNull();
  expect(screen.queryByRole("table")).toBeNull();
});
