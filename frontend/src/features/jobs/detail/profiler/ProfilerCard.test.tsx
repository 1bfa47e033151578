// SPDX-License-Identifier: Apache-2.0
// A profile is asked for on the page of a job that runs, and shown once it is there.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { JobDetail, Profile, ProfileDetail } from "@/api/types";
import { attempt, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const AT = "2026-11-20T10:00:00Z";
const TRACE = { role: "worker", rank: 0, state: "done", reason: "", note: "4 of 5 steps: the epoch ended.", first_step: 7, n_steps: 4, size_bytes: 2048, n_events: 900, n_left_out: 3 } as const;
const OPERATOR = { name: "aten::addmm", calls: 12, self_cpu_s: 0.5, cpu_s: 0.75, device_s: 0, self_memory_bytes: 4096 };

function profile(over: Partial<Profile> = {}): Profile {
  return { id: "p1", attempt_number: 1, steps: 5, state: "done", reason: "", requested_by: "alice", requested_at: AT, ended_at: AT, traces: [TRACE], ...over };
}

function serve(recordings: () => Profile[], job: Partial<JobDetail> = {}) {
  const detail = jobDetail({ state: "running", ...job });
  const asked: unknown[] = [];
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/events", page([])),
    http.get("/api/v1/jobs/:id/profiles", () => HttpResponse.json(recordings())),
    http.get("/api/v1/jobs/:id/profiles/:profile", () => {
      const step_s = { input: 0.4, compute: 1.2, sync: 0.4, wait: 0 };
      return HttpResponse.json<ProfileDetail>({ ...profile(), traces: [{ ...TRACE, step_s, operators: [OPERATOR], n_operators: 31 }] });
    }),
    http.post("/api/v1/jobs/:id/profiles", async ({ request }) => {
      const body = (await request.json()) as { ranks: number[] };
      asked.push(body);
      if (body.ranks.includes(9)) {
        return HttpResponse.json({ title: "No", status: 422, detail: "The job has no worker 9.", code: "no_such_worker" }, { status: 422 });
      }
      return HttpResponse.json(profile({ state: "waiting", ended_at: null }), { status: 201 });
    }),
  );
  return { ...renderPage(`/jobs/${detail.id}/profile`), asked };
}

async function card() {
  const heading = await screen.findByRole("heading", { name: "Profiler" });
  return within(heading.closest("section") ?? document.body);
}

it("asks for steps and ranks, and shows a refusal with its reason", async () => {
  const { user, asked } = serve(() => []);
  const inside = await card();
  const ranks = inside.getByRole("textbox", { name: "Ranks of workers" });
  await user.type(ranks, " 9");
  await user.click(inside.getByRole("button", { name: "Record a profile" }));
  expect(await inside.findByText(/no worker 9/)).toBeVisible();
  await user.type(ranks, "{Backspace}1");
  await user.click(inside.getByRole("button", { name: "Record a profile" }));
  await expect.poll(() => asked).toEqual([{ steps: 5, ranks: [0, 9] }, { steps: 5, ranks: [0, 1] }]);
});

it("asks for parameter servers, and shows the phases of one", async () => {
  const server0 = { ...TRACE, role: "server", note: "" } as const;
  const recorded = profile({ id: "p3", traces: [{ ...TRACE, state: "failed", reason: "no" }, server0] });
  const current = attempt({ mode: "parameter_server", n_servers: 1 });
  const { user, asked } = serve(() => [recorded], { attempts: [current], current_attempt: current });
  server.use(
    http.get("/api/v1/jobs/:id/profiles/:profile", () => {
      const step_s = { input: 0, compute: 0.4, sync: 0.4, wait: 1.2 };
      const phase = { ...OPERATOR, name: "aggregate and update" };
      const [worker] = recorded.traces;
      return HttpResponse.json<ProfileDetail>({
        ...recorded,
        traces: [
          { ...(worker ?? TRACE), step_s: null, operators: [], n_operators: 0 },
          { ...server0, step_s, operators: [phase], n_operators: 1 },
        ],
      });
    }),
  );
  const inside = await card();
  await user.type(inside.getByRole("textbox", { name: "Parameter servers" }), "0");
  await user.clear(inside.getByRole("textbox", { name: "Ranks of workers" }));
  await user.click(inside.getByRole("button", { name: "Record a profile" }));
  await expect.poll(() => asked).toEqual([{ steps: 5, ranks: [], servers: [0] }]);
  expect(inside.getByRole("cell", { name: "Worker 0, Server 0" })).toBeVisible();
  expect(await inside.findByText("Server 0, steps 8 to 11")).toBeVisible();
  expect(inside.getByRole("row", { name: /^aggregate and update 12 500 ms$/ })).toBeVisible();
  expect(inside.getByRole("link", { name: "Download the trace" })).toHaveAttribute("href", expect.stringMatching(/\/profiles\/p3\/server-traces\/0$/));
  await user.selectOptions(inside.getByRole("combobox", { name: "Pod" }), "Worker 0");
  expect(await inside.findByText("Worker 0: no")).toBeVisible();
});

it("shows parts, operators and where the trace is", async () => {
  serve(() => [profile()]);
  const inside = await card();
  expect(await inside.findByText("Worker 0, steps 8 to 11")).toBeVisible();
  expect(inside.getByText(TRACE.note)).toBeVisible();
  const parts = inside.getByRole("list", { name: "What a recorded step consists of" });
  expect(within(parts).getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual(["Reading 100 ms · 20 %", "Computing 300 ms · 60 %", "Synchronising 100 ms · 20 %"]);
  expect(inside.getByRole("row", { name: /^aten::addmm 12 / })).toBeVisible();
  expect(inside.getByRole("link", { name: "Download the trace" })).toHaveAttribute("href", expect.stringMatching(/\/profiles\/p1\/traces\/0$/));
});

it("does not ask twice at once, and says why a recording failed", async () => {
  serve(() => [profile({ id: "p2", state: "recording", ended_at: null }), profile({ state: "failed", reason: "The pod runs an earlier version." })]);
  const inside = await card();
  expect(await inside.findByText("The pod runs an earlier version.")).toBeVisible();
  expect(inside.getByRole("button", { name: "Record a profile" })).toBeDisabled();
  expect(inside.getByRole("button", { name: "Give up" })).toBeVisible();
});

it("says of a script that it reports no times of steps, and promises none", async () => {
  const { model_version } = jobDetail();
  server.use(answers("/api/v1/jobs/{id}/speed", { samples: [], slowdowns: [], refused: [], workers: [] }));
  serve(() => [], { model_version: { ...model_version, kind: "script" } });
  expect(await screen.findByText(/Scripts report no times of their steps/)).toBeVisible();
  expect(screen.queryByText("Nothing measured yet")).not.toBeInTheDocument();
});

it("is not there for a job that has ended without one", async () => {
  let isAsked = false;
  server.use(answers("/api/v1/jobs/{id}/speed", { samples: [], slowdowns: [], refused: [], workers: [] }));
  serve(
    () => {
      isAsked = true;
      return [];
    },
    { state: "succeeded" },
  );
  expect(await screen.findByText("Nothing measured yet")).toBeVisible();
  await expect.poll(() => isAsked).toBe(true);
  expect(screen.queryByRole("heading", { name: "Profiler" })).not.toBeInTheDocument();
});
