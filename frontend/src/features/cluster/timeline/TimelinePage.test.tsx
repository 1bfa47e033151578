// SPDX-License-Identifier: Apache-2.0
// The timeline: bars in colours that the legend names, keys that go from bar to bar, a table, and a window in the address.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Decision, Timeline } from "@/api/types";
import { attempt, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { decision, why } from "@/testing/schedulingFixtures";
import { answers, server } from "@/testing/server";

const JOBS = [
  { id: "00000000-0000-4000-8000-000000000001", name: "digits", organisation: "Vision", submitted_at: "2026-03-02T08:02:00Z", allocated_at: "2026-03-02T08:10:00Z" },
  { id: "00000000-0000-4000-8000-000000000002", name: "speech", organisation: "Audio", submitted_at: "2026-03-02T07:30:00Z", allocated_at: null },
];
const BAR = { first_gpu: 0, n_gpus: 2, since_s: 600, until_s: 1800, job: 0, p50_s: null, p90_s: null, n: 1 };
const TIMELINE: Timeline = {
  since: "2026-03-02T08:00:00Z",
  until: "2026-03-02T09:00:00Z",
  now: "2026-03-02T08:45:00Z",
  next_after: null,
  nodes: [
    { name: "n0", gpu_type: "a100", n_gpus: 4, bars: [BAR, { ...BAR, first_gpu: 2, until_s: 2700, job: null, n: 3 }], marks: [{ kind: "preempted", gpu: 0, at_s: 1800, job: 0 }] },
    { name: "n1", gpu_type: "a100", n_gpus: 4, bars: [{ ...BAR, until_s: 2700, p50_s: 3000, p90_s: 3600 }], marks: [] },
  ],
  waiting: [{ job: 1, start_p50_s: 3000, start_p90_s: 3100, finish_p50_s: 3300, finish_p90_s: 3600 }],
  n_waiting: 1,
  jobs: JOBS,
};

describe("The timeline of the cluster", () => {
  beforeEach(() => {
    server.use(answers("/api/v1/cluster/timeline", TIMELINE));
  });

  it("names organisations, marks and jobs that wait", async () => {
    renderPage("/cluster/timeline");
    const legend = within(await screen.findByRole("list", { name: "Legend" }));
    expect(legend.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
      "Audio",
      "Vision",
      "other organisations, or several short attempts",
      "Preempted",
      "waited from submission to start",
      "predicted: solid to the median, fading to 90 %",
    ]);
    expect(screen.getByTitle("digits: Preempted")).toBeInTheDocument();
    expect(screen.getByTitle("speech: predicted")).toBeInTheDocument();
    expect(screen.getAllByTitle("now")).toHaveLength(3);
  });

  it("draws what each job waited from its submission to its first start, once", async () => {
    renderPage("/cluster/timeline");
    expect(await screen.findByTitle(/^digits: waited 8 min 00 s, submitted .*, started /)).toBeInTheDocument();
    expect(screen.getByTitle(/^speech: waited 1 h 15 min until now, submitted .*, predicted start /)).toBeInTheDocument();
    expect(screen.getAllByTitle(/waited/)).toHaveLength(2);
  });

  it("says how many more jobs are predicted to start in the window than are drawn", async () => {
    server.use(answers("/api/v1/cluster/timeline", { ...TIMELINE, n_waiting: 51 }));
    renderPage("/cluster/timeline");
    expect(await screen.findByText(/^50 more pending jobs are predicted to start in this window/)).toBeVisible();
    expect(screen.getByRole("link", { name: "See the queue" })).toHaveAttribute("href", "/queue");
  });

  it("draws no wait of a job that is pending again", async () => {
    const again = { ...JOBS[1], allocated_at: "2026-03-02T07:40:00Z" } as Timeline["jobs"][number];
    server.use(answers("/api/v1/cluster/timeline", { ...TIMELINE, jobs: [JOBS[0] as Timeline["jobs"][number], again] }));
    renderPage("/cluster/timeline");
    expect(await screen.findByTitle("speech: predicted")).toBeInTheDocument();
    expect(screen.queryByTitle(/^speech: waited/)).toBeNull();
  });

  it("chooses the bar of a wait that is clicked", async () => {
    const { user } = renderPage("/cluster/timeline");
    await user.click(await screen.findByTitle(/^digits: waited/));
    expect(screen.getByText(/^digits on n0, GPUs 0–1 · .* · Vision · waited 8 min 00 s for its GPUs$/)).toBeVisible();
  });

  it("goes from bar to bar by arrow keys and opens the job by Enter", async () => {
    server.use(answers("/api/v1/jobs/{id}", jobDetail()), answers("/api/v1/jobs/{id}/why", why()));
    const { user, router } = renderPage("/cluster/timeline");
    (await screen.findByRole("application")).focus();
    await user.keyboard("{ArrowRight}");
    expect(screen.getByText(/^digits on n0, GPUs 0–1 · .* · Vision · waited 8 min/)).toBeVisible();
    await user.keyboard("{ArrowRight}");
    expect(screen.getByText(/^3 short attempts on n0, GPUs 2–3/)).toBeVisible();
    await user.keyboard("{ArrowDown}");
    expect(screen.getByText(/^digits on n1, .* to now · Vision · predicted finish in 5 min 00 s$/)).toBeVisible();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(router.state.location.pathname).toBe(`/jobs/${JOBS[0]?.id ?? ""}`));
  });

  it("keeps the chosen bar in the address, and chosen while the window moves on", async () => {
    let moved = TIMELINE;
    server.use(answers("/api/v1/cluster/timeline", () => moved));
    const first = renderPage("/cluster/timeline");
    await first.user.click((await screen.findAllByTitle("digits"))[0] as HTMLElement);
    const { search } = first.router.state.location;
    expect(new URLSearchParams(search).get("bar")).toBe("n0~0~2026-03-02T08:20:00.000Z");
    first.unmount();

    const [n0, ...others] = TIMELINE.nodes;
    moved = {
      ...TIMELINE,
      since: "2026-03-02T08:15:00Z",
      until: "2026-03-02T09:15:00Z",
      nodes: [{ ...(n0 as (typeof TIMELINE.nodes)[number]), bars: [{ ...BAR, since_s: 0, until_s: 900 }], marks: [] }, ...others],
    };
    renderPage(`/cluster/timeline${search}`);
    expect(await screen.findByText(/^digits on n0, GPUs 0–1 · /)).toBeVisible();
  });

  it("shows the time of a bar that the address names and the window does not have", async () => {
    const asked: URLSearchParams[] = [];
    server.use(
      http.get("/api/v1/cluster/timeline", ({ request }) => {
        asked.push(new URL(request.url).searchParams);
        return HttpResponse.json(TIMELINE);
      }),
    );
    const { user, router } = renderPage("/cluster/timeline?window=1h&bar=n0~0~2026-03-01T08:20:00.000Z");
    await user.click(await screen.findByRole("button", { name: "Show its time" }));
    await waitFor(() => expect(asked.at(-1)?.get("until")).toBe("2026-03-01T08:50:00.000Z"));
    expect(new URLSearchParams(router.state.location.search).get("bar")).toBe("n0~0~2026-03-01T08:20:00.000Z");
    await user.click(screen.getByRole("application"));
    await user.keyboard("{Escape}");
    expect(screen.queryByRole("button", { name: "Show its time" })).not.toBeInTheDocument();
  });

  it("says why a job ended where its bar does", async () => {
    const at = (second: number) => new Date(Date.parse(TIMELINE.since) + 1000 * second).toISOString();
    const placement = [{ node: "n0", slots: [0, 1], n_servers: 0 }];
    const ended = attempt({ number: 1, created_at: at(600), stop_asked_at: at(1790), ended_at: at(1800), outcome: "stopped", placement });
    const present = attempt({ number: 2, created_at: at(1900), ended_at: null, placement: [{ node: "n1", slots: [0, 1], n_servers: 0 }] });
    const of = (kind: Decision["decision"], second: number, sentence: string) =>
      decision({ decision: kind, at: at(second), explanations: [{ reason: "higher_priority", sentence, facts: {} }] });
    server.use(
      answers("/api/v1/jobs/{id}", jobDetail({ id: JOBS[0]?.id ?? "", attempts: [ended, present] })),
      answers("/api/v1/jobs/{id}/why", why({ history: [of("launch", 1900, "It fits."), of("preempt", 1790, "speech has a higher priority."), of("launch", 600, "It fitted.")] })),
    );
    const { user } = renderPage("/cluster/timeline");
    (await screen.findByRole("application")).focus();
    await user.keyboard("{ArrowRight}");
    expect(await screen.findByText(/^Why it ended here: It was preempted\. speech has a higher priority\./)).toBeVisible();
    expect(screen.getByRole("link", { name: "All attempts of the job" })).toHaveAttribute("href", `/jobs/${JOBS[0]?.id ?? ""}/timeline`);
    await user.keyboard("{ArrowRight}"); // short ones of others
    expect(screen.queryByText(/^Why it ended/)).toBeNull();
  });

  it("is a table, too", async () => {
    const { user } = renderPage("/cluster/timeline");
    await user.click(await screen.findByText("Table"));
    const table = within(await screen.findByRole("table", { name: "Attempts" }));
    expect(table.getAllByRole("row")).toHaveLength(4);
    expect(table.getByRole("row", { name: /n1 GPUs 0–1 digits Vision – .* running/ })).toBeVisible();
  });

  it("keeps window and end in the address, and moves by half a window", async () => {
    const asked: URLSearchParams[] = [];
    server.use(
      http.get("/api/v1/cluster/timeline", ({ request }) => {
        asked.push(new URL(request.url).searchParams);
        return HttpResponse.json<Timeline>(TIMELINE);
      }),
    );
    const { user, router } = renderPage("/cluster/timeline?window=1h");
    await user.click(await screen.findByRole("button", { name: "Earlier" }));
    expect(new URLSearchParams(router.state.location.search).get("until")).toBe("2026-03-02T08:30:00.000Z");
    await user.click(await screen.findByText("7 d"));
    expect(await screen.findByRole("list", { name: "Legend" })).toBeVisible();
    expect(asked.map((query) => [query.get("window"), query.get("until")])).toEqual([
      ["1h", null],
      ["1h", "2026-03-02T08:30:00.000Z"],
      ["7d", "2026-03-02T08:30:00.000Z"],
    ]);
  });

  describe("of more nodes than one answer has", () => {
    const later: Timeline = { ...TIMELINE, nodes: [{ ...(TIMELINE.nodes[1] as Timeline["nodes"][number]), name: "n2" }], waiting: [], n_waiting: 0 };

    beforeEach(() => {
      server.use(
        http.get("/api/v1/cluster/timeline", ({ request }) => {
          const isFirst = !new URL(request.url).searchParams.has("after");
          return HttpResponse.json<Timeline>(isFirst ? { ...TIMELINE, next_after: "n1" } : later);
        }),
      );
    });

    it("adds them page by page, and has as many after a reload", async () => {
      const { user, router, unmount } = renderPage("/cluster/timeline?window=1h");
      await user.click(await screen.findByRole("button", { name: "Show more nodes" }));
      expect(await screen.findByTitle("n2")).toBeVisible();
      expect(screen.getByTitle("n0")).toBeVisible();
      const { search } = router.state.location;
      expect(search).toBe("?window=1h&pages=2");
      unmount();
      renderPage(`/cluster/timeline${search}`);
      expect(await screen.findByTitle("n2")).toBeVisible();
    });

    it.each(["0", "-3", "NaN", "many", "1e-9", ""])("begins with the first ones at pages=%s", async (pages) => {
      renderPage(`/cluster/timeline?pages=${pages}`);
      expect(await screen.findByTitle("n1")).toBeVisible();
      expect(screen.queryByTitle("n2")).toBeNull();
    });

    it.each(["2.9", "1e99", "Infinity"])("reads to the last ones at pages=%s", async (pages) => {
      renderPage(`/cluster/timeline?pages=${pages}`);
      expect(await screen.findByTitle("n2")).toBeVisible();
    });
  });
});
