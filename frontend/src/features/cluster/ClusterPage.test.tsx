// SPDX-License-Identifier: Apache-2.0
// The cluster's page: who is on which GPU, as far as one may know.
import { screen, waitForElementToBeRemoved, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Cluster, Node } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { job, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

function clusterOf(over: Partial<Node>): Cluster {
  const base = cluster();
  return {
    ...base,
    racks: base.racks.map((rack) => ({ ...rack, nodes: rack.nodes.map((node) => ({ ...node, ...over })) })),
  };
}

const OTHERS = { id: null, name: null, organisation: null, slowdown: null };

describe("The cluster's page", () => {
  it("says who slows whom, by how much, and which link is slower than declared", async () => {
    const pair = { job: "mlp on blobs", other: "", resource: "node" as const, gpu_type: "V100", n: 2, n_steps: 1200 };
    const link = { kind: "nic" as const, declared_bps: 1e10, n_reports: 30, at: "2026-03-02T09:05:00Z" };
    server.use(
      answers("/api/v1/cluster", {
        ...cluster(),
        interference: [{ ...pair, slowdown: 1.5, error: 0.024 }],
        links: [
          { ...link, name: "node-b", measured_bps: 2e9, slow_since: "2026-03-02T09:00:00Z" },
          { ...link, name: "node-a", measured_bps: 9e9, slow_since: null },
        ],
      }),
    );
    renderPage("/cluster");
    const pairs = await screen.findByRole("region", { name: "Interference" });
    expect(pairs).toHaveTextContent("mlp on blobs");
    expect(pairs).toHaveTextContent("a job of another organisation");
    expect(pairs).toHaveTextContent("the same node (V100)");
    expect(pairs).toHaveTextContent("1.50 ± 0.02 times as long");
    expect(pairs).toHaveTextContent("after 1,200 steps of 2 attempts");
    const [, slow, healthy] = within(screen.getByRole("table", { name: "Measured links" })).getAllByRole("row");
    expect(slow).toHaveTextContent("Node node-b10 Gbit/s2 Gbit/sSlow");
    expect(healthy).toHaveTextContent("As declared");
  });

  it("names one's own jobs and shows free GPUs as free", async () => {
    server.use(answers("/api/v1/cluster", cluster()));
    renderPage("/cluster");
    const first = await screen.findByRole("listitem", { name: "GPU 0" });
    expect(within(first).getByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", `/jobs/${job().id}`);
    expect(first).toHaveTextContent("Acme");
    expect(screen.getByRole("listitem", { name: "GPU 1" })).toHaveTextContent("Free");
    expect(screen.getByText("1 of 2")).toBeVisible();
    expect(screen.getByRole("region", { name: "Largest gang now" })).toHaveTextContent("H1001 GPU on one node, 1 in one rack, 1 in all. 1 node with 1 free");
  });

  it("says what kind of thing is left out of scheduling rounds", async () => {
    const item = { name: "digits", reason: "", remedy: "Ask an administrator.", job: null, since: "2026-03-02T09:00:00Z", last_seen_at: "2026-03-02T09:00:00Z", ended_at: null };
    server.use(answers("/api/v1/cluster", { ...cluster(), quarantined: [{ ...item, kind: "step" }, { ...item, kind: "gpu" }] }));
    renderPage("/cluster");
    const table = await screen.findByRole("table", { name: "Quarantined" });
    expect(table).toHaveTextContent("step of the round digits");
    expect(table).toHaveTextContent("GPU digits");
  });

  it("shows another organisation's GPU as taken, without a name", async () => {
    server.use(
      answers(
        "/api/v1/cluster",
        clusterOf({
          slots: [{ index: 0, job: OTHERS, colocated: [], gpu: null }],
          servers: [{ job: OTHERS, n: 2 }],
        }),
      ),
    );
    renderPage("/cluster");
    const slot = await screen.findByRole("listitem", { name: "GPU 0" });
    expect(slot).toHaveTextContent("another organisation");
    expect(slot).not.toHaveTextContent("Free");
    expect(within(slot).queryByRole("link")).not.toBeInTheDocument();
    expect(screen.getByText(/2 parameter servers of/)).toHaveTextContent("2 parameter servers of another organisation");
  });

  it("shows how a GPU is used, and why one is not offered", async () => {
    const gpu = {
      name: "NVIDIA H200",
      memory_bytes: 80 * 1024 ** 3,
      used_bytes: 8 * 1024 ** 3,
      utilisation: 0.62,
      temperature_c: 61,
      problem: "",
    };
    const problem = "Processes that its last job did not find there run on it (4242).";
    server.use(
      answers(
        "/api/v1/cluster",
        clusterOf({
          slots: [
            { index: 0, job: null, colocated: [], gpu },
            { index: 1, job: null, colocated: [], gpu: { ...gpu, utilisation: null, problem } },
          ],
        }),
      ),
    );
    renderPage("/cluster");
    const first = await screen.findByRole("listitem", { name: "GPU 0" });
    expect(first).toHaveTextContent("Free62 % · 8 GiB of 80 GiB · 61 °C");
    const second = screen.getByRole("listitem", { name: "GPU 1" });
    expect(second).toHaveTextContent("Unavailable8 GiB of 80 GiB · 61 °C");
    expect(second).toHaveTextContent(problem);
  });

  it("says which node is not ready, and why", async () => {
    server.use(answers("/api/v1/cluster", clusterOf({ is_ready: false, message: "No heartbeat for 40 s." })));
    renderPage("/cluster");
    const node = await screen.findByRole("article", { name: "Node node-a" });
    expect(node).toHaveTextContent("Not ready");
    expect(node).toHaveTextContent("No heartbeat for 40 s.");
    expect(within(node).getByRole("listitem", { name: "GPU 1" })).toHaveTextContent("Unavailable");
  });

  it("says that the machines cannot be reached, and why to whom may know", async () => {
    const backend = { name: "local", away_since: "2026-03-02T09:00:00Z", message: "Connection refused by the API server." };
    server.use(answers("/api/v1/cluster", cluster({ backend })));
    renderPage("/cluster");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The cluster cannot be reached");
    expect(alert).toHaveTextContent("Connection refused by the API server.");
  });

  it("says what is left out of scheduling, why, and what to do", async () => {
    const item = {
      kind: "job" as const,
      name: job().id,
      reason: "ValueError: example_s is 'quick'",
      remedy: "Submit it again.",
      job: { id: job().id, name: "digits-cnn" },
      since: "2026-03-02T09:00:00Z",
      last_seen_at: "2026-03-02T09:00:00Z",
      ended_at: null,
    };
    const node = { ...item, kind: "node" as const, name: "n7", job: null, reason: "", ended_at: "2026-03-02T09:05:00Z" };
    server.use(answers("/api/v1/cluster", cluster({ quarantined: [item, node] })));
    renderPage("/cluster");
    const table = await screen.findByRole("table", { name: "Quarantined" });
    const [first, second] = within(table).getAllByRole("row").slice(1);
    expect(first).toHaveTextContent("ValueError: example_s is 'quick'");
    expect(first).toHaveTextContent("Left out");
    expect(first).toHaveTextContent("Submit it again.");
    expect(within(table).getByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", `/jobs/${job().id}`);
    expect(second).toHaveTextContent("node n7");
    expect(second).toHaveTextContent("Ended");
  });

  it("shows administrators what a machine's sandbox lacks, and what that allows", async () => {
    const protection = { is_separating: true, consequence: "" };
    const report = {
      host: "worker-1",
      reported_at: "2026-03-02T09:00:00Z",
      error: "",
      separates_tenants: false,
      protections: [
        { ...protection, name: "landlock", is_present: true, detail: "Landlock, version 6." },
        { ...protection, name: "seccomp", is_present: false, detail: "No filter.", consequence: "Every call is possible." },
      ],
    };
    server.use(answers("/api/v1/cluster", cluster({ sandbox: [report] })));
    renderPage("/cluster");
    const shown = await screen.findByRole("article", { name: "Sandbox of worker-1" });
    expect(shown).toHaveTextContent("Organisations are not kept apart");
    expect(within(shown).getByRole("list", { name: "Missing on worker-1" })).toHaveTextContent(
      "No filter. Every call is possible.",
    );
    expect(shown).toHaveTextContent("In force: Landlock, version 6.");
  });

  it("shows every job on a GPU that jobs share, and how GPUs may be shared", async () => {
    const first = { id: job().id, name: "digits-cnn", organisation: null, slowdown: null };
    const slots = [{ index: 0, job: first, colocated: [{ ...first, id: "b", name: "letters" }, OTHERS], gpu: null }];
    server.use(answers("/api/v1/cluster", clusterOf({ slots, sharing: "Up to 3 jobs share a GPU, time-sliced." })));
    renderPage("/cluster");
    const slot = await screen.findByRole("listitem", { name: "GPU 0" });
    expect(within(slot).getAllByRole("link").map((link) => link.textContent)).toEqual(["digits-cnn", "letters"]);
    expect(slot).toHaveTextContent("another organisation");
    expect(screen.getByText("Up to 3 jobs share a GPU, time-sliced.")).toBeVisible();
  });

  it("warns of guarantees that are more in sum than the cluster has", async () => {
    server.use(answers("/api/v1/cluster", cluster({ overcommitted: [{ gpu_type: "", guaranteed: 9, gpus: 2 }] })));
    renderPage("/cluster");
    const sentence = "Organisations are guaranteed 9 GPUs in sum, and the cluster has 2: not all can be honoured at once.";
    expect(await screen.findByRole("alert")).toHaveTextContent(sentence);
  });

  it("lets administrators drain a node and open it again, and no one else", async () => {
    server.use(answers("/api/v1/cluster", cluster()));
    const first = renderPage("/cluster");
    await screen.findByRole("article", { name: "Node node-a" });
    expect(screen.queryByRole("button", { name: "Actions on node-a" })).not.toBeInTheDocument();
    first.unmount();

    const asked: unknown[] = [];
    const closed = { drain_by: "2026-03-02T11:00:00Z", reason: "", asked_by: "root", asked_at: "2026-03-02T09:00:00Z" };
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers("/api/v1/jobs", () => page([job({ predicted_finish_at: new Date(Date.now() + 3 * 3_600_000).toISOString() })])),
      http.post("/api/v1/cluster/nodes/node-a/drain", async ({ request }) => {
        asked.push(await request.json());
        server.use(answers("/api/v1/cluster", clusterOf({ is_schedulable: false, maintenance: closed })));
        return HttpResponse.json(clusterOf({ is_schedulable: false, maintenance: closed }));
      }),
    );
    renderPage("/cluster");
    const user = userEvent.setup();
    await user.click(await screen.findByRole("button", { name: "Actions on node-a" }));
    await user.click(await screen.findByRole("menuitem", { name: "Drain within 2 hours" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Drain within 2 hours: node-a" }));
    expect(dialog.getByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", `/jobs/${job().id}`);
    expect(await dialog.findByText(/is preempted: without that it would finish in/)).toHaveTextContent(/3 h|2 h 59 min/);
    await user.click(dialog.getByRole("button", { name: "Drain within 2 hours" }));
    expect(await screen.findByText("Draining")).toBeVisible();
    expect(screen.getByText("GPUs unavailable").parentElement).toHaveTextContent("1");
    expect(screen.getByText("GPUs free").parentElement).toHaveTextContent("0 of 2");
    expect(asked).toEqual([{ deadline_s: 7200 }]);
    await user.click(screen.getByRole("button", { name: "Actions on node-a" }));
    expect(await screen.findByRole("menuitem", { name: "Uncordon" })).toBeVisible();
  });

  it("says why a node is excluded and until when, and lets administrators open it", async () => {
    const exclusion = {
      since: "2026-03-02T09:00:00Z", until: "2026-03-02T09:10:00Z", gpus: [], cause: "gpu_unavailable" as const, n_failures: 3, n_jobs: 2, n_times: 1,
    };
    const opened: string[] = [];
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      answers("/api/v1/cluster", clusterOf({ is_schedulable: false, exclusion })),
      http.post("/api/v1/cluster/nodes/node-a/uncordon", () => {
        opened.push("node-a");
        server.use(answers("/api/v1/cluster", cluster()));
        return HttpResponse.json(cluster());
      }),
    );
    renderPage("/cluster");
    const node = within(await screen.findByRole("article", { name: "Node node-a" }));
    expect(node.getByText("Excluded")).toBeVisible();
    expect(node.getByText(/^3 attempts of 2 jobs failed here in a row, the last one by this cause: GPU not usable/)).toBeVisible();
    expect(screen.getByText("GPUs free").parentElement).toHaveTextContent("0 of 2");
    const user = userEvent.setup();
    await user.click(node.getByRole("button", { name: "Actions on node-a" }));
    await user.click(await screen.findByRole("menuitem", { name: "Uncordon" }));
    await user.click(within(await screen.findByRole("dialog", { name: "Uncordon: node-a" })).getByRole("button", { name: "Uncordon" }));
    expect(await screen.findByText("1 free")).toBeVisible();
    expect(opened).toEqual(["node-a"]);
  });

  it("follows the stream: a job that ends frees its GPU on screen", async () => {
    let now = cluster();
    server.use(http.get("/api/v1/cluster", () => HttpResponse.json<Cluster>(now)));
    renderPage("/cluster");
    expect(await screen.findByRole("link", { name: "digits-cnn" })).toBeVisible();

    now = clusterOf({ slots: [{ index: 0, job: null, colocated: [], gpu: null }] });
    FakeEventSource.of("/api/v1/stream").emit("event", { id: 9, subject_kind: "job", subject_id: job().id }, "9");

    await waitForElementToBeRemoved(() => screen.queryByRole("link", { name: "digits-cnn" }));
    expect(screen.getByRole("listitem", { name: "GPU 0" })).toHaveTextContent("Free");
  });

  it.each([
    [false, "Who waits, and why", "/queue"],
    [true, "Check the platform", "/platform"],
  ])("names the next step while there are no nodes (administrator: %s)", async (is_staff, name, address) => {
    server.use(answers("/api/v1/auth/me", me({ is_staff })), answers("/api/v1/cluster", { ...cluster(), racks: [] }));
    renderPage("/cluster");
    expect(await screen.findByRole("link", { name })).toHaveAttribute("href", address);
  });
});
