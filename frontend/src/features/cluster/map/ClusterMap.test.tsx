// SPDX-License-Identifier: Apache-2.0
// The map of the cluster: colours, a job that stands out with its links, and other times than now.
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Cluster, Timeline } from "@/api/types";
import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, server } from "@/testing/server";

const HOUR = 3600;
const DIGITS = { id: job().id, name: "digits-cnn", organisation: { id: "00000000-0000-4000-8000-0000000000a1", name: "Acme" }, slowdown: null };
const OTHERS = { id: null, name: null, organisation: null, slowdown: null };

/** Two racks of one node each; the job is on both nodes. */
function twoRacks(): Cluster {
  const base = cluster();
  const [rack] = base.racks;
  const [node] = rack?.nodes ?? [];
  if (rack === undefined || node === undefined) throw new Error("the fixture has no node");
  const gpu = { name: "H100", memory_bytes: 100, used_bytes: 25, utilisation: 0.5, temperature_c: null, problem: "" };
  const free = { index: 1, job: null, colocated: [], gpu };
  const link = { kind: "nic" as const, name: "node-a", declared_bps: 25e9, measured_bps: 5e9, n_reports: 3, slow_since: null, at: "2026-03-02T09:05:00Z" };
  return {
    ...base,
    links: [link],
    racks: [
      { ...rack, nodes: [{ ...node, slots: [{ index: 0, job: DIGITS, colocated: [], gpu }, free] }] },
      { ...rack, name: "rack-2", nodes: [{ ...node, name: "node-b", slots: [{ index: 0, job: DIGITS, colocated: [OTHERS], gpu: null }] }] },
    ],
  };
}

/** A day until six hours from now: another job held GPU 0 until two hours ago, digits-cnn from then to in an hour or two. */
function day(): Timeline {
  const now = Date.now();
  const at = (hours: number) => 18 * HOUR + hours * HOUR;
  const bar = { first_gpu: 0, n_gpus: 1, p50_s: null, p90_s: null, n: 1 };
  return {
    since: new Date(now - 18 * HOUR * 1000).toISOString(),
    until: new Date(now + 6 * HOUR * 1000).toISOString(),
    now: new Date(now).toISOString(),
    next_after: null,
    nodes: [
      {
        name: "node-a", gpu_type: "H100", n_gpus: 2, marks: [],
        bars: [
          { ...bar, since_s: at(-6), until_s: at(-2), job: 1 },
          { ...bar, since_s: at(-2), until_s: at(0), job: 0, p50_s: at(1), p90_s: at(3) },
        ],
      },
    ],
    waiting: [],
    n_waiting: 0,
    jobs: [
      { id: DIGITS.id, name: "digits-cnn", organisation: "Acme", submitted_at: "2026-03-02T00:00:00Z", allocated_at: null },
      { id: "00000000-0000-4000-8000-0000000000b2", name: "speech", organisation: "Audio", submitted_at: "2026-03-02T00:00:00Z", allocated_at: null },
    ],
  };
}

const nodeOn = (name: string) => screen.getByRole("listitem", { name: new RegExp(`^${name}: `) });
const map = () => within(screen.getByRole("region", { name: "Map" }));

async function moveTo(hours: number) {
  const slider = await screen.findByRole("slider", { name: "Time" });
  fireEvent.change(slider, { target: { value: String(hours * HOUR) } });
  fireEvent.pointerUp(slider);
}

/** As a browser does it: what it calls is not waited for, as fireEvent() would. */
async function pressTo(slider: HTMLInputElement, value: string) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(slider, value);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  slider.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  await Promise.resolve();
}

describe("The map of the cluster", () => {
  beforeEach(() => {
    server.use(answers("/api/v1/cluster", twoRacks()), answers("/api/v1/cluster/timeline", day()));
  });

  it("shows how warm GPUs are", async () => {
    const found = twoRacks();
    const warm = { name: "H100", memory_bytes: 100, used_bytes: 25, utilisation: 0.5, temperature_c: 60, problem: "" };
    const [slot] = found.racks[0]?.nodes[0]?.slots ?? [];
    if (slot?.gpu) slot.gpu.temperature_c = warm.temperature_c;
    server.use(answers("/api/v1/cluster", found));
    const { user } = renderPage("/cluster");
    await screen.findByRole("region", { name: "Map" });
    await user.click(map().getByRole("radio", { name: "Temperature" }));
    expect(await map().findByText("Temperature of the GPU: 30 °C or less")).toBeVisible();
    expect(map().getByText("90 °C or more")).toBeVisible();
    expect(map().getByTitle(/^node-a, GPU 0: digits-cnn \(Acme\), 60 °C$/)).toBeInTheDocument();
  });

  it("says at another time than now that only the map is of then", async () => {
    renderPage("/cluster");
    await screen.findByRole("slider", { name: "Time" });
    expect(map().queryByRole("note")).toBeNull();
    await moveTo(-3);
    expect(await map().findByRole("note")).toHaveTextContent("Only the map is of that time");
  });

  it("goes on from where a key left it, though the address follows later", async () => {
    renderPage("/cluster");
    const slider = await screen.findByRole<HTMLInputElement>("slider", { name: "Time" });
    for (const step of ["-300", "-600"]) {
      await pressTo(slider, step);
      expect(slider).toHaveValue(step);
    }
    await expect.poll(() => screen.getByRole<HTMLButtonElement>("button", { name: "Now" }).disabled).toBe(false);
    expect(slider).toHaveValue("-600");
  });

  it("says of each node who holds its GPUs, and what the colours mean", async () => {
    renderPage("/cluster");
    await screen.findByRole("region", { name: "Map" });
    expect(nodeOn("node-a")).toHaveAccessibleName("node-a: GPU 0: digits-cnn (Acme); GPU 1: free");
    expect(nodeOn("node-b")).toHaveAccessibleName("node-b: GPU 0: digits-cnn (Acme) and another organisation");
    expect(map().getByText("2 of 3 GPUs in use")).toBeVisible();
    expect(map().getByRole("list", { name: "Legend" })).toHaveTextContent("Acme");
  });

  it("shows use, memory and links by colour, kept in the address", async () => {
    const { user, router } = renderPage("/cluster");
    await user.click(await screen.findByRole("radio", { name: "Memory" }));
    expect(nodeOn("node-a")).toHaveAccessibleName(/GPU 1: free, Memory 25 %$/);
    expect(router.state.location.search).toBe("?colour=memory");
    await user.click(screen.getByRole("radio", { name: "NIC" }));
    expect(nodeOn("node-a")).toHaveAccessibleName(/GPU 1: free, NIC 20 %$/);
    expect(nodeOn("node-b")).toHaveAccessibleName(/another organisation$/);
  });

  it("lets a job stand out, and names the links that its traffic crosses", async () => {
    const { user, router } = renderPage("/cluster");
    await user.selectOptions(await screen.findByRole("combobox", { name: "Highlight a job" }), "digits-cnn");
    expect(map().getByText(/holds 2 GPUs on 2 nodes in 2 racks/)).toHaveTextContent(
      "Its traffic crosses the NIC of node-a (5 Gbit/s measured), the NIC of node-b (25 Gbit/s), " +
        "the uplink of rack-1 (100 Gbit/s), the uplink of rack-2 (100 Gbit/s).",
    );
    expect(router.state.location.search).toBe(`?job=${DIGITS.id}`);
    await user.click(screen.getByTitle("node-a, GPU 0: digits-cnn (Acme)"));
    expect(map().queryByText(/holds 2 GPUs/)).not.toBeInTheDocument();
  });

  it("shows what gangs send over links now, and that others are not measured", async () => {
    const load = { kind: "nic" as const, name: "node-a", capacity_bps: 25e9, bps: 5e9, n_gangs: 1, n_unknown: 1 };
    const uplink = { ...load, kind: "uplink" as const, name: "rack-1", capacity_bps: 100e9, bps: null, n_gangs: 0 };
    server.use(answers("/api/v1/cluster", { ...twoRacks(), link_loads: [load, uplink] }));
    const { user } = renderPage("/cluster");
    await user.click(await screen.findByRole("radio", { name: "Link load" }));
    expect(nodeOn("node-a")).toHaveAccessibleName(/GPU 1: free, Link load 5 Gbit\/s of 25 Gbit\/s, and 1 gang not measured$/);
    expect(nodeOn("node-b")).toHaveAccessibleName(/Link load not measured$/);
    expect(map().getAllByText("uplink: not measured")).toHaveLength(2);
    expect(map().getByLabelText("Legend")).toHaveTextContent("What gangs send over the NIC now");
  });

  it("shows how much jobs are slowed by others on their hardware, and on what that rests", async () => {
    const base = twoRacks();
    const slowed = { ...DIGITS, slowdown: { ratio: 1.5, basis: "measured" as const, resource: "gpu" } };
    const predicted = { ...DIGITS, slowdown: { ratio: 1.2, basis: "predicted" as const, resource: "node" } };
    const alone = { ...DIGITS, slowdown: { ratio: 1, basis: "alone" as const, resource: "" } };
    const slot = { index: 0, colocated: [], gpu: null };
    const [rack] = base.racks;
    const node = rack?.nodes[0];
    if (rack === undefined || node === undefined) throw new Error("the fixture has no node");
    const slots = [slowed, predicted, alone, DIGITS, null].map((one, index) => ({ ...slot, index, job: one }));
    server.use(answers("/api/v1/cluster", { ...base, racks: [{ ...rack, nodes: [{ ...node, slots }] }] }));
    const { user } = renderPage("/cluster?colour=interference");
    await screen.findByRole("region", { name: "Map" });
    const said = "digits-cnn (Acme), 50 % slower (measured)|20 % slower (predicted)|not slowed (no other job on its hardware)|not measured";
    for (const one of said.split("|")) expect(nodeOn("node-a").getAttribute("aria-label")).toContain(one);
    expect(nodeOn("node-a").getAttribute("aria-label")).toMatch(/GPU 4: free$/);
    await user.click(screen.getByRole("radio", { name: "Organisation" }));
    expect(nodeOn("node-a").getAttribute("aria-label")).not.toContain("slower");
  });

  it("draws the traffic of the chosen job on its links, with the bytes of a step and their rate", async () => {
    const links = [
      { kind: "nic" as const, name: "node-a", bytes_per_step: 50e6, bps: 2e9 },
      { kind: "nic" as const, name: "node-b", bytes_per_step: 50e6, bps: 2e9 },
      { kind: "uplink" as const, name: "rack-1", bytes_per_step: 50e6, bps: 2e9 },
    ];
    const traffic = {
      ...{ job: DIGITS.id, mode: "all_reduce", nodes: ["node-a", "node-b"], server_nodes: [] },
      ...{ step_s: 0.2, is_counted: true, measured_at: new Date().toISOString(), links },
    };
    server.use(answers("/api/v1/cluster", { ...twoRacks(), traffic: [traffic] }));
    renderPage(`/cluster?job=${DIGITS.id}`);
    expect(await screen.findByRole("img", { name: "NIC of node-a: 2 Gbit/s; NIC of node-b: 2 Gbit/s; uplink of rack-1: 2 Gbit/s" })).toBeVisible();
    expect(map().getByText(/A step sends up to/)).toHaveTextContent(
      "A step sends up to 47.7 MiB over a link around the ring of its workers, as its pods counted; it takes 200 ms, as measured just now.",
    );
  });

  it("says that a job's traffic is not measured rather than that there is none", async () => {
    renderPage(`/cluster?job=${DIGITS.id}`);
    expect(await screen.findByText(/Its traffic is not measured/)).toBeVisible();
  });

  it("shows who held a GPU before, and who is predicted to", async () => {
    const { router } = renderPage("/cluster");
    await moveTo(-4);
    await waitFor(() => expect(nodeOn("node-a")).toHaveAccessibleName("node-a: GPU 0: speech (Audio); GPU 1: free"));
    expect(router.state.location.search).toMatch(/^\?at=/);
    expect(screen.getByRole("radio", { name: "Memory" })).toBeDisabled();
    await moveTo(0.5);
    await waitFor(() => expect(nodeOn("node-a")).toHaveAccessibleName(/GPU 0: digits-cnn \(Acme\), as predicted;/));
    expect(screen.getByRole("status", { name: "Time shown" })).toHaveTextContent(/, predicted$/);
    await moveTo(2);
    await waitFor(() => expect(nodeOn("node-a")).toHaveAccessibleName(/digits-cnn \(Acme\), if it ends late;/));
    await moveTo(4);
    await waitFor(() => expect(nodeOn("node-a")).toHaveAccessibleName("node-a: GPU 0: free; GPU 1: free"));
    fireEvent.click(screen.getByRole("button", { name: "Now" }));
    await waitFor(() => expect(router.state.location.search).toBe(""));
  });

  it("keeps to the present where the past cannot be read, and says so", async () => {
    server.use(http.get("/api/v1/cluster/timeline", () => HttpResponse.error()));
    renderPage("/cluster");
    await moveTo(-4);
    expect(await map().findByRole("alert")).toBeVisible();
  });
});
