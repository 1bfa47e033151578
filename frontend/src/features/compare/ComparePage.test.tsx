// SPDX-License-Identifier: Apache-2.0
// Comparing jobs: which curves are asked for, what differs, and that the address says all of it.
import { act, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it, vi } from "vitest";

import type { components } from "@/api/schema";
import type { Job, Run } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { AT, VISION, job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

import { tableText } from "./baseline";
import { csvOfLines } from "./CurvesSection";
import { rowOfJob } from "./settings";
import { textOfList, textOfPairs } from "@/components/chart/address/useSetting";

const JOBS = [
  job({ id: "a", name: "slow", hyperparameters: { lr: 0.001, momentum: 0.9 }, result_metrics: { "eval/loss": 0.7 }, state: "succeeded" }),
  job({ id: "b", name: "fast", hyperparameters: { lr: 0.1, momentum: 0.9 }, result_metrics: { "eval/loss": 0.3 }, state: "succeeded" }),
];

let measured: ComparedImportance;

beforeEach(() => {
  measured = { method: "By ranks.", needed: 10, n_rows: 12, parameters: [{ name: "lr", share: 0.81, n: 12, correlation: -0.9 }] };
});

const RUN = { id: "00000000-0000-7000-8000-00000000aa01" };

type ComparedRun = components["schemas"]["ComparedRun"];
type ComparedImportance = components["schemas"]["ComparedImportance"];

interface Asked {
  jobs: string[];
  metric: string;
  axis: string;
  max_points: number;
}

function compared(all: Job[] = JOBS): Asked[] {
  const asked: Asked[] = [];
  server.use(
    answers("/api/v1/runs", page<Run>([])),
    answers("/api/v1/jobs/{id}/difference", { settings: [], code: { files: [], n_left_out: 0, note: "" } }),
    http.post("/api/v1/jobs/compare/importance", () => HttpResponse.json(measured)),
    http.get("/api/v1/jobs", ({ request }) => {
      const ids = new URL(request.url).searchParams.get("id")?.split(",") ?? [];
      return HttpResponse.json(page(all.filter(({ id }) => ids.includes(id))));
    }),
    http.post("/api/v1/jobs/compare/metrics", () =>
      HttpResponse.json({ metrics: [{ key: "eval/loss", n_jobs: all.length }, { key: "train/loss", n_jobs: 1 }] }),
    ),
    http.post("/api/v1/jobs/compare/curves", async ({ request }) => {
      const body = (await request.json()) as Asked;
      asked.push(body);
      return HttpResponse.json({ curves: body.jobs.map((id) => ({ job: id, x: [0, 1], y: [1, 0.5] })) });
    }),
  );
  return asked;
}

const described = (run: Partial<ComparedRun>): ComparedRun => ({ id: "r", name: "run", status: "RUNNING", project: VISION.name, ...run });

/** params: of each run. options.most: how many runs an answer describes. */
function comparedRuns(all: ComparedRun[], params: Record<string, string> = {}, { most = 200, nMetrics = 1 } = {}) {
  const asked = { values: [] as string[][], curves: [] as { runs: string[]; max_points: number }[] };
  server.use(
    http.post("/api/v1/runs/compare", async ({ request }) => {
      const { runs } = (await request.json()) as { runs: string[] };
      asked.values.push(runs);
      const found = all.filter(({ id }) => runs.includes(id));
      const shown = found.slice(0, most);
      return HttpResponse.json<components["schemas"]["ComparedRuns"]>({
        runs: shown,
        params: Object.entries(params).map(([key, value]) => ({ key, n_runs: shown.length, values: shown.map(() => value) })),
        metrics: [{ key: "eval/loss", n_runs: shown.length, values: shown.map((_, n) => n / 10) }],
        n_params: Object.keys(params).length,
        n_metrics: nMetrics,
        missing: runs.filter((id) => !all.some((run) => run.id === id)),
        left: found.slice(most).map(({ id }) => id),
      });
    }),
    http.post("/api/v1/runs/compare/curves", async ({ request }) => {
      const body = (await request.json()) as { runs: string[]; max_points: number };
      asked.curves.push(body);
      const curves = body.runs.filter((id) => all.some((run) => run.id === id)).map((run) => ({ run, x: [0, 1], y: [1, null] }));
      return HttpResponse.json<components["schemas"]["ComparedRunCurves"]>({ curves, left: [] });
    }),
  );
  return asked;
}

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
      return HttpResponse.json({ metrics: [{ key: "eval/loss", n_jobs: 2 }] });
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

it("lays runs from elsewhere beside jobs: parameters, newest values, and curves over steps and seconds", async () => {
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
  await user.keyboard("{Backspace}"); // takes away no run that nobody sees
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

it("goes on without what is deleted or not to be seen, and says so", async () => {
  compared(JOBS.slice(0, 1));
  comparedRuns([described({ id: "r0", name: "still there" })]);
  renderPage("/compare?jobs=a,gone&runs=r0,foreign");
  expect(await screen.findByText(/^2 of those in the address are not there any more/)).toBeVisible();
  const table = within(await screen.findByRole("table", { name: "What differs" }));
  expect(table.getAllByRole("rowheader").map(({ textContent }) => textContent)).toEqual(["slow", "still there"]);
  expect(screen.queryByRole("alert")).toBeNull();
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

it("has logarithmic axes for what spans more than two decades, and linear ones where somebody wants these", async () => {
  compared([...JOBS, job({ id: "c", name: "tiny", hyperparameters: { lr: 0.00001, momentum: 0.5 } })]);
  const { user, router } = renderPage("/compare?jobs=a,b,c");
  const lr = await screen.findByRole("button", { name: "lr, log" });
  expect(lr).toHaveAttribute("aria-pressed", "true");
  expect(await screen.findByRole("switch", { name: "Logarithmic across" })).toBeChecked();
  expect(screen.getByRole("button", { name: "momentum, log" })).toHaveAttribute("aria-pressed", "false");
  await user.click(lr);
  expect(new URLSearchParams(router.state.location.search).get("scales")).toBe("lr:linear");
  expect(screen.getByRole("switch", { name: "Logarithmic across" })).not.toBeChecked();
  await user.click(screen.getByRole("switch", { name: "Logarithmic across" }));
  expect(router.state.location.search).not.toContain("scales");
});

it("takes its axes, ranges and scales from the address, whatever letters the names have", async () => {
  const names = ["lr,0:1", "momentum"];
  compared(JOBS.map((each, n) => ({ ...each, hyperparameters: { "lr,0:1": 1 + n, momentum: n } })));
  const query = new URLSearchParams({
    jobs: "a,b",
    axes: textOfList(names),
    scales: textOfPairs(new Map([["lr,0:1", "log"]])),
    keep: textOfPairs(new Map([["lr,0:1", "1~1.5"]])),
  });
  const { user, router } = renderPage(`/compare?${query.toString()}`);
  expect(await screen.findByText("1 of 2 lines kept")).toBeVisible();
  expect(screen.getByRole("img", { name: "2 lines over lr,0:1, momentum" })).toBeVisible();
  expect(screen.getByRole("button", { name: "lr,0:1, log" })).toHaveAttribute("aria-pressed", "true");
  expect(await screen.findByRole("img", { name: /of 1 jobs by/ })).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Keep all lines" }));
  expect(router.state.location.search).not.toContain("keep");
});

it("draws one number against another first, also where jobs differ in results alone", async () => {
  const results = [0.5, 0.25].map((loss, index) => ({ "eval/loss": loss, "train/loss": index + 1 }));
  compared(results.map((result_metrics, index) => job({ id: "ab"[index] ?? "", name: `job ${index}`, result_metrics, state: "succeeded" })));
  renderPage("/compare?jobs=a,b");
  const across: HTMLSelectElement = await screen.findByLabelText("Across");
  expect(screen.getByLabelText<HTMLSelectElement>("Up").value).not.toBe(across.value);
});

it("says how much each setting matters for the result that is chosen, and that more jobs are needed", async () => {
  const asked: unknown[] = [];
  compared(JOBS.map((each, n) => ({ ...each, gpu_hours: n })));
  server.use(
    http.post("/api/v1/jobs/compare/importance", async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(measured);
    }),
  );
  const { user } = renderPage("/compare?jobs=a,b");
  const section = within(await screen.findByRole("region", { name: "Importance" }));
  expect(await section.findByText(/^81 %/)).toHaveTextContent("81 % · correlation -0.9");
  expect(asked).toContainEqual({ results: [0.7, 0.3], parameters: { lr: [0.001, 0.1] } });
  expect(section.getByText(/Interactions are not seen. By 12 jobs or runs/)).toBeVisible();
  measured = { ...measured, n_rows: 2, parameters: [] };
  await user.selectOptions(section.getByRole("combobox", { name: "For the result" }), "GPU-hours");
  expect(await section.findByText("Needs 10 jobs or runs with this result; there are 2.")).toBeVisible();
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
