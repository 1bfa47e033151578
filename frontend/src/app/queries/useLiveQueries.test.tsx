// SPDX-License-Identifier: Apache-2.0
// What the organisation's stream does to the pages: what they read again, and where they lead when the server ends it.
import { act, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it, vi } from "vitest";

import type { Model } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { dataset, me, model, organisation, run } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

/** The page of runs, which has none. Returns what counts how often its list is read. */
async function openRuns() {
  const reads = vi.fn();
  server.use(
    answers("/api/v1/runs", () => {
      reads();
      return page([]);
    }),
  );
  renderPage("/runs");
  await screen.findByText("No runs yet");
  return reads;
}

describe("The stream of everything", () => {
  it("leads to signing in when the server ends it because the session has ended", async () => {
    server.use(answers("/api/v1/tokens", page([])));
    const { router } = renderPage("/tokens");
    await screen.findByText("No tokens yet");
    server.use(
      http.get("/api/v1/auth/me", () => HttpResponse.json({ status: 401, detail: "Sign in." }, { status: 401 })),
    );
    act(() => FakeEventSource.of("/api/v1/stream").emit("end", { code: "signed_out", detail: "Sign in again." }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/sign-in"));
  });

  it("reads a page's list again when something of its kind has changed, and nothing for other kinds", async () => {
    const reads = await openRuns();
    expect(screen.getAllByText("Connecting")).not.toHaveLength(0);
    expect(screen.queryByText(/^Offline/)).not.toBeInTheDocument();
    expect(reads).toHaveBeenCalledTimes(1);
    const stream = FakeEventSource.of("/api/v1/stream");
    act(() => stream.emit("changed", { kinds: ["delivery"] }));
    act(() => stream.emit("changed", { kinds: ["run"] }));
    await waitFor(() => expect(reads).toHaveBeenCalledTimes(2));
  });

  it("begins where the page began to be read, so that what happens before it is there is reported", async () => {
    let names = ["before"];
    server.use(answers("/api/v1/datasets", () => page(names.map((name) => dataset({ name })))));
    renderPage("/datasets");
    await screen.findByText("before");
    names = ["before", "meanwhile"];
    const stream = FakeEventSource.of("/api/v1/stream");
    expect(stream.url).toBe(`/api/v1/stream?last_event_id=${me().stream_cursor}`);
    act(() => stream.open());
    act(() => stream.emit("event", { subject_kind: "dataset", subject_id: "1" }, "41-1700"));
    expect(await screen.findByText("meanwhile")).toBeInTheDocument();
  });

  it.each(["project", "organisation"])("lists what is left when another person has deleted a %s", async (kind) => {
    const reads = { project: vi.fn(), organisation: vi.fn() };
    server.use(
      answers("/api/v1/projects", () => {
        reads.project();
        return page([]);
      }),
      answers("/api/v1/organisations", () => {
        reads.organisation();
        return page([organisation()]);
      }),
    );
    renderPage("/members");
    const read = reads[kind as keyof typeof reads];
    await waitFor(() => expect(read).toHaveBeenCalled());
    const before = read.mock.calls.length;
    act(() => FakeEventSource.of("/api/v1/stream").emit("event", { subject_kind: kind, subject_id: "1" }, "41-1700"));
    await waitFor(() => expect(read.mock.calls.length).toBeGreaterThan(before));
  });

  it("reads again what was being inspected when turns in the queue of inspections were missed, and nothing else", async () => {
    let state = "inspecting";
    const reads = { models: vi.fn(), datasets: vi.fn() };
    server.use(
      answers("/api/v1/models", () => {
        reads.models();
        return page([model({ name: "little-net", latest_version: { ...model().latest_version, state } as Model["latest_version"] })]);
      }),
      answers("/api/v1/datasets", () => {
        reads.datasets();
        return page([dataset()]);
      }),
    );
    const { user } = renderPage("/jobs/new");
    await user.click(await screen.findByRole("combobox", { name: "Model" }));
    expect(screen.queryByRole("option", { name: "little-net" })).not.toBeInTheDocument();
    state = "ready";
    const stream = FakeEventSource.of("/api/v1/stream");
    act(() => stream.open());
    act(() => stream.emit("changed", { kinds: ["queued_work"] }, "40-1701"));
    expect(await screen.findByRole("option", { name: "little-net" })).toBeInTheDocument();
    expect([reads.models.mock.calls.length, reads.datasets.mock.calls.length]).toEqual([2, 1]);
  });

  it.each([
    ["event", { subject_kind: "run", subject_id: "1" }],
    ["changed", { kinds: ["run"] }],
  ])("reads again what was under way when its news came as an %s", async (name, data) => {
    const pending: (() => void)[] = [];
    server.use(
      http.get("/api/v1/runs", async () => {
        const isFirst = pending.length === 0;
        await new Promise<void>((answer) => pending.push(answer));
        return HttpResponse.json(page(isFirst ? [] : [run({ name: "made meanwhile" })]));
      }),
    );
    renderPage("/runs");
    await waitFor(() => expect(pending).toHaveLength(1));
    act(() => FakeEventSource.of("/api/v1/stream").emit(name, data));
    await new Promise((pass) => setTimeout(pass, 200));
    pending[0]?.();
    await waitFor(() => expect(pending).toHaveLength(2));
    pending[1]?.();
    expect(await screen.findByText("made meanwhile")).toBeInTheDocument();
  });

  it("reads a list once more after many events at once", async () => {
    const reads = await openRuns();
    const stream = FakeEventSource.of("/api/v1/stream");
    act(() => {
      for (let i = 0; i < 500; i++) stream.emit("event", { subject_kind: "run", subject_id: String(i) }, `${i}-1`);
    });
    await waitFor(() => expect(reads).toHaveBeenCalledTimes(2));
    await new Promise((pass) => setTimeout(pass, 300));
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it("goes on after an interruption where it was, also before the first event, and reads again only what is reported", async () => {
    const reads = await openRuns();
    const stream = FakeEventSource.of("/api/v1/stream");
    act(() => stream.open());
    act(() => stream.emit("heartbeat", {}, "40-1702"));
    await screen.findAllByText("Live");
    expect(reads).toHaveBeenCalledTimes(1);
    act(() => stream.fail());
    await waitFor(() => expect(screen.getAllByRole("status").filter(({ textContent }) => /^Offline since/.test(textContent))).not.toHaveLength(0));
    await waitFor(() => expect(FakeEventSource.instances.filter(({ url }) => url.startsWith("/api/v1/stream"))).toHaveLength(2));
    const second = FakeEventSource.of("/api/v1/stream");
    expect(second.url).toBe("/api/v1/stream?last_event_id=40-1702");
    act(() => second.open());
    act(() => second.emit("heartbeat", {}, "40-1702"));
    act(() => second.emit("changed", { kinds: ["delivery"] }, "40-1703"));
    await screen.findAllByText("Live");
    expect(reads).toHaveBeenCalledTimes(1);
    act(() => second.emit("changed", { kinds: ["run"] }, "40-1704"));
    await waitFor(() => expect(reads).toHaveBeenCalledTimes(2));
  });
});
