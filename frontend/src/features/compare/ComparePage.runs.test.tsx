// SPDX-License-Identifier: Apache-2.0
// Comparing runs from elsewhere, also with jobs: how they are asked for, and what is left out.
import { act, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Run } from "@/api/types";
import { JOBS, compared, comparedRuns, described } from "@/testing/comparedAnswers";
import { FakeEventSource } from "@/testing/eventsource";
import { AT, VISION, job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const RUN = { id: "00000000-0000-7000-8000-00000000aa01" };

it("lays runs from elsewhere next to jobs: parameters, newest values, and curves over steps and seconds", async () => {
  compared();
  const run: Run = { ...RUN, status: "FINISHED", name: "laptop", project: VISION, created_by: job().created_by, parent_job: null, started_at: AT, ended_at: AT };
  comparedRuns([described({ id: RUN.id, name: "laptop", status: "FINISHED" })], { lr: "0.5", epochs: "3" });
  server.use(answers("/api/v1/runs", page([run])));
  const { user, router } = renderPage("/compare?jobs=a,b");
  await user.click(await screen.findByRole("button", { name: "Add runs from elsewhere" }));
  await user.click(await screen.findByRole("combobox", { name: "Runs from elsewhere" }));
  await user.click(await screen.findByRole("option", { name: /laptop/ }));
  expect(router.state.location.search).toContain(`runs=${run.id}`);
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(await table.findByRole("link", { name: "laptop" })).toHaveAttribute("href", `/runs/${run.id}`);
  expect(table.getByRole("row", { name: /laptop Finished 0.5/ })).toBeVisible();
  expect(await screen.findByRole("figure", { name: "eval/loss of 2 jobs, 1 run by step" })).toBeInTheDocument();
  await user.selectOptions(screen.getByRole("combobox", { name: "Over" }), "GPU-hours");
  expect(await screen.findByText(/neither GPU-hours nor epochs/)).toBeVisible();
  expect(await screen.findByRole("figure", { name: "eval/loss of 2 jobs by gpu-hours" })).toBeInTheDocument();
});

it("adds any run to a thousand less one, found by a search of the API, and keeps the others", async () => {
  compared();
  const many = Array.from({ length: 1000 }, (_, n) => described({ id: `r${n}`, name: `run ${n}` }));
  comparedRuns(many);
  const listed = (n: number): Run => ({ ...RUN, id: `r${n}`, name: `run ${n}`, status: "FINISHED", project: VISION, created_by: job().created_by, parent_job: null, started_at: AT, ended_at: AT });
  const asked: (string | null)[] = [];
  server.use(
    http.get("/api/v1/runs", ({ request }) => {
      const search = new URL(request.url).searchParams.get("search");
      asked.push(search);
      const results = many.flatMap((run, n) => (run.name.includes(search ?? "") ? [listed(n)] : []));
      return HttpResponse.json({ previous: null, next: results.length > 50 ? "http://localhost/?cursor=c" : null, results: results.slice(0, 50) });
    }),
  );
  const { user, router } = renderPage(`/compare#runs=${many.slice(0, 999).map(({ id }) => id).join(",")}`);
  const field = await screen.findByRole("combobox", { name: "Runs from elsewhere" });
  expect(await screen.findByText("and 987 more")).toBeVisible();
  await user.click(field);
  await user.keyboard("{Backspace}"); // takes away no run that is not seen
  await user.paste("run 999");
  await user.click(await screen.findByRole("option", { name: /run 999/ }));
  expect(asked).toContain("run 999");
  const chosen = () => new URLSearchParams(router.state.location.hash.slice(1)).get("runs")?.split(",");
  await expect.poll(() => chosen()?.length).toBe(1000);
  const pill = screen.getByText(`run 0 · ${VISION.name}`, { selector: ".mantine-Pill-label" }).parentElement as HTMLElement;
  await user.click(within(pill).getByRole("button", { hidden: true }));
  await expect.poll(() => chosen()?.[0]).toBe("r1");
  expect(await screen.findByRole("figure", { name: "eval/loss of 999 runs by step" })).toBeInTheDocument();
  expect(screen.queryByText(/not there any more/)).toBeNull();
});

it("asks once for fifty runs, and once for their curves", async () => {
  compared();
  const many = Array.from({ length: 50 }, (_, n) => described({ id: `r${n}` }));
  const asked = comparedRuns(many);
  renderPage(`/compare?runs=${many.map(({ id }) => id).join(",")}`);
  expect(await screen.findByRole("figure", { name: "eval/loss of 50 runs by step" })).toBeInTheDocument();
  expect(asked.values.map(({ length }) => length)).toEqual([50]);
  expect(asked.curves.map(({ runs, max_points }) => [runs.length, max_points])).toEqual([[50, 160]]);
});

it("compares a thousand runs by bounded questions, and asks for those that an answer had no room for", async () => {
  compared();
  const many = Array.from({ length: 1000 }, (_, n) => described({ id: `r${n}` }));
  const asked = comparedRuns(many, {}, { most: 150 });
  renderPage(`/compare#runs=${many.map(({ id }) => id).join(",")}`);
  expect(await screen.findByRole("figure", { name: "eval/loss of 1,000 runs by step" })).toBeInTheDocument();
  expect(asked.values.map(({ length }) => length).sort((a, b) => b - a)).toEqual([200, 200, 200, 200, 200, 50, 50, 50, 50, 50]);
  expect(asked.curves.every(({ runs, max_points }) => runs.length * max_points <= 8000)).toBe(true);
  expect(await screen.findByRole("table", { name: "What differs" })).toHaveAttribute("aria-rowcount", "1001");
});

it("says how many names are left out where runs have too many", async () => {
  compared();
  comparedRuns([described({ id: "r0" }), described({ id: "r1" })], { lr: "1" }, { nMetrics: 900 });
  renderPage("/compare?runs=r0,r1");
  expect(await screen.findByText("899 parameters and metrics that the fewest of the runs have are left out.")).toBeVisible();
  expect(await screen.findByRole("figure", { name: "eval/loss of 2 runs by step" })).toBeInTheDocument();
});

it("reads runs again once for many reports, and of their curves those that still grow", async () => {
  compared();
  const asked = comparedRuns([described({ id: "r0", status: "FINISHED" }), described({ id: "r1" }), described({ id: "r2" })]);
  renderPage("/compare?runs=r0,r1,r2");
  await screen.findByRole("figure", { name: "eval/loss of 3 runs by step" });
  const stream = FakeEventSource.of("/api/v1/stream");
  act(() => {
    for (let n = 0; n < 20; n++) stream.emit("changed", { kinds: ["run"] });
  });
  await expect.poll(() => asked.values.length).toBeGreaterThan(1);
  await expect.poll(() => asked.curves.slice(0, 2).map(({ runs }) => runs)).toEqual([["r0", "r1", "r2"], ["r1", "r2"]]);
  // at once, and once more some seconds after the last report
  expect(asked.values.length).toBeLessThan(4);
  expect(asked.curves.length).toBeLessThan(4);
  expect(screen.getByRole("figure", { name: "eval/loss of 3 runs by step" })).toBeInTheDocument();
});

it("goes on without what is deleted or not to be seen, and says so", async () => {
  compared(JOBS.slice(0, 1));
  comparedRuns([described({ id: "r0", name: "still there" })]);
  renderPage("/compare?jobs=a,gone&runs=r0,foreign");
  expect(await screen.findByText(/^2 of those in the address are not there any more/)).toBeVisible();
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(table.getAllByRole("rowheader").map(({ textContent }) => textContent)).toEqual(["slow", "still there"]);
  expect(screen.queryByRole("alert")).toBeNull();
});
