// SPDX-License-Identifier: Apache-2.0
// The queue's page: the order, the reasons, "what if", and rounds for administrators.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Cluster, Effect, WhatIf, WhatIfAnswer } from "@/api/types";
import { job, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster, queuedJob, schedulerStatus, whatIfAnswer } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

const SECOND = "00000000-0000-7000-8000-0000000000f2";
const AFTER: NonNullable<Effect["after"]> = {
  decision: "launch",
  mode: "all_reduce",
  n_workers: 4,
  n_servers: 0,
  start_at: "2026-03-02T09:00:00Z",
  finish_at: "2026-03-02T10:00:00Z",
  finish_p90_at: "2026-03-02T10:30:00Z",
  explanations: [],
};
const EFFECT: Effect = {
  id: SECOND,
  name: "second",
  owner: "grace",
  organisation: "Globex",
  role: "other",
  before: { ...AFTER, decision: "wait", n_workers: 0, finish_at: "2026-03-02T11:00:00Z" },
  after: AFTER,
  start_delta_s: -3600,
  finish_delta_s: -3600,
};

function queueOf(...jobs: ReturnType<typeof queuedJob>[]) {
  server.use(answers("/api/v1/tokens", page([])), answers("/api/v1/queue", page(jobs)), answers("/api/v1/jobs", page([job(), queuedJob({ id: SECOND })])));
}

describe("The queue's page", () => {
  it("says of a job that waits for the end of a pause of admission that it starts no earlier", async () => {
    const until_s = Date.parse("2099-03-02T12:00:00Z") / 1000;
    const paused = { reason: "admission_paused", sentence: "Pending: admission of jobs is paused by an administrator.", facts: { until_s } };
    queueOf(queuedJob({ predicted_start_at: null, explanations: [paused] }), queuedJob({ id: SECOND, predicted_start_at: null, explanations: [{ ...paused, facts: {} }] }));
    renderPage("/queue");
    const [, first, second] = within(await screen.findByRole("table", { name: "Queue" })).getAllByRole("row");
    expect(first).toHaveTextContent(/not before .*Mar/);
    expect(second).toHaveTextContent("not known");
  });

  it("shows jobs in the scheduler's order, each with its reasons and its place among those of all organisations", async () => {
    queueOf(queuedJob({ name: "first", place: 2 }), queuedJob({ id: SECOND, name: "second", place: 5 }));
    renderPage("/queue");
    const table = await screen.findByRole("table", { name: "Queue" });
    const [, first, second] = within(table).getAllByRole("row");
    expect(first).toHaveTextContent(/^2first/);
    expect(first).toHaveTextContent("All 8 GPUs are in use; it needs 4.");
    expect(second).toHaveTextContent(/^5second/);
    expect(screen.getByText(/policy mlhub/)).toHaveTextContent("in 24 ms, of which 3 ms to decide");
  });

  it("shows one's own jobs, and says so in the address", async () => {
    const asked: (string | null)[] = [];
    server.use(
      http.get("/api/v1/queue", ({ request }) => {
        asked.push(new URL(request.url).searchParams.get("owner"));
        return HttpResponse.json(page([queuedJob({ name: "first", place: 2 })]));
      }),
    );
    const { user, router } = renderPage("/queue");
    await user.click(await screen.findByRole("radio", { name: "Mine" }));
    await expect.poll(() => asked.at(-1)).toBe(me().username);
    expect(router.state.location.search).toBe(`?owner=${me().username}`);
    await router.navigate("/queue?owner=grace");
    expect(await screen.findByRole("radio", { name: "grace" })).toBeChecked();
    expect(asked.at(-1)).toBe("grace");
  });

  it("shows the jobs that may use a type of GPU, with their places in the whole queue, and says so in the address", async () => {
    const asked: (string | null)[] = [];
    const ofTypes = (node: Cluster["racks"][number]["nodes"][number]) => ["A100", "V100"].map((gpu_type) => ({ ...node, name: gpu_type, gpu_type }));
    const racks = cluster().racks.map((rack) => ({ ...rack, nodes: rack.nodes.slice(0, 1).flatMap(ofTypes) }));
    server.use(
      answers("/api/v1/cluster", cluster({ racks })),
      http.get("/api/v1/queue", ({ request }) => {
        asked.push(new URL(request.url).searchParams.get("gpu_type"));
        return HttpResponse.json(page([queuedJob({ name: "first", place: 7 })]));
      }),
    );
    const { user, router } = renderPage("/queue");
    await user.selectOptions(await screen.findByRole("combobox", { name: "GPU type" }), "V100");
    await expect.poll(() => asked.at(-1)).toBe("V100");
    expect(router.state.location.search).toBe("?gpu_type=V100");
    expect(await screen.findByRole("row", { name: /^7\s*first/ })).toBeInTheDocument();
    await router.navigate("/queue?gpu_type=H9");
    expect(await screen.findByRole("option", { name: "H9" })).toBeInTheDocument();
    await expect.poll(() => asked.at(-1)).toBe("H9");
  });

  it("asks the scheduler what a cancellation would change", async () => {
    queueOf(queuedJob({ id: SECOND, name: "second" }));
    let asked: WhatIf | undefined;
    server.use(
      http.post("/api/v1/what-if", async ({ request }) => {
        asked = (await request.json()) as WhatIf;
        return HttpResponse.json<WhatIfAnswer>(whatIfAnswer({ effects: [EFFECT] }));
      }),
    );
    const { user } = renderPage("/queue");
    await user.click(await screen.findByRole("radio", { name: "What if?" }));
    const form = await screen.findByRole("form", { name: "What if" });
    expect(within(form).getByRole("button")).toBeDisabled();
    await user.click(within(form).getByRole("combobox", { name: "Job" }));
    await user.click(await screen.findByRole("option", { name: "digits-cnn (Running)" }));
    await user.click(within(form).getByRole("button", { name: "Ask the scheduler" }));
    expect(await screen.findByText("1 job would finish earlier, 0 later.")).toBeVisible();
    expect(asked).toEqual({ cancel: [job().id] });
    const row = within(screen.getByRole("table", { name: "Effects" })).getByRole("row", { name: /second/ });
    expect(row).toHaveTextContent("stays pending");
    expect(row).toHaveTextContent("starts now, 4 GPUs");
    expect(row).toHaveTextContent("1 h 00 min earlier");
  });

  it("offers nodes to administrators only, and shows them rounds with their shadow", async () => {
    queueOf();
    const { unmount, user } = renderPage("/queue?view=rounds");
    expect(await screen.findByText("No pending jobs")).toBeVisible();
    expect(screen.queryByRole("radio", { name: "Rounds" })).not.toBeInTheDocument();
    await user.click(screen.getByRole("radio", { name: "What if?" }));
    expect(await screen.findByRole("form", { name: "What if" })).toBeVisible();
    expect(screen.queryByRole("option", { name: "A node is added" })).not.toBeInTheDocument();
    unmount();
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers(
        "/api/v1/rounds",
        page([
          {
            id: 12,
            at: "2026-03-02T09:00:00Z",
            policy: "mlhub",
            parameters: {},
            applied: [{ job: SECOND, decision: "launch", outcome: "launched" }],
            decide_ms: 3,
            round_ms: 24,
            n_jobs: 2,
            error: "",
            shadow: {
              policy: "srtf",
              decide_ms: 2,
              n_jobs: 2,
              n_different: 1,
              mean_finish_s: 60,
              real_mean_finish_s: 50,
              error: "",
            },
          },
        ]),
      ),
    );
    const shown = renderPage("/queue?view=rounds");
    const rounds = await screen.findByRole("table", { name: "Rounds" });
    expect(within(rounds).getByRole("row", { name: /^12/ })).toHaveTextContent("1 × launch24 ms, decide 3 mssrtf: different for 1 job");
    await shown.user.click(screen.getByRole("radio", { name: "What if?" }));
    expect(await screen.findByRole("option", { name: "A node is added" })).toBeInTheDocument();
  });

  it("says on every page, to everyone, that scheduling has stopped", async () => {
    const rounds = {
      attempted_at: "2026-03-02T09:00:00Z",
      stopped_since: "2026-03-02T09:00:00Z",
      cause: "loop_away" as const,
      message: "",
    };
    queueOf(); // and the page's own answers, whose failure would be an alert, too
    server.use(answers("/api/v1/scheduler/status", schedulerStatus({ rounds })));
    renderPage("/tokens");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("Scheduling has stopped");
    expect(alert).toHaveTextContent("Running jobs continue");
    expect(alert).toHaveTextContent("does not run");
  });

  it("says when the fallback policy is active, and what failed to administrators on every page", async () => {
    queueOf();
    const failure = { at: "2026-03-02T09:00:00Z", policy: "mlhub", kind: "raised", message: "KeyError: 'x'", round: 4 };
    const fallback = { policy: "fifo", fallback_since: "2026-03-02T09:00:00Z", n_failures: 3 };
    server.use(answers("/api/v1/scheduler/status", schedulerStatus(fallback)));
    const { unmount } = renderPage("/queue");
    expect(await screen.findByRole("alert")).toHaveTextContent("Fallback policy fifo is active");
    unmount();
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers("/api/v1/scheduler/status", schedulerStatus({ ...fallback, failure })),
    );
    renderPage("/tokens");
    expect(await screen.findByRole("alert")).toHaveTextContent("KeyError: 'x'");
  });
});
