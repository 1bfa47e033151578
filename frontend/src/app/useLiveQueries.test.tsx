// SPDX-License-Identifier: Apache-2.0
// What the organisation's stream does to the pages: what they read again, and where they lead when the server ends it.
import { act, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it, vi } from "vitest";

import type { Model } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { dataset, model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

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
    const reads = vi.fn();
    server.use(
      answers("/api/v1/runs", () => {
        reads();
        return page([]);
      }),
    );
    renderPage("/runs");
    await screen.findByText("No runs yet");
    expect(screen.getAllByText("Connecting")).not.toHaveLength(0);
    expect(screen.queryByText(/^Offline/)).not.toBeInTheDocument();
    expect(reads).toHaveBeenCalledTimes(1);
    const stream = FakeEventSource.of("/api/v1/stream");
    act(() => stream.emit("changed", { kinds: ["delivery"] }));
    act(() => stream.emit("changed", { kinds: ["run"] }));
    await waitFor(() => expect(reads).toHaveBeenCalledTimes(2));
  });

  it("reads again what was being inspected before the stream was there, and nothing else", async () => {
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
    act(() => FakeEventSource.of("/api/v1/stream").open());
    expect(await screen.findByRole("option", { name: "little-net" })).toBeInTheDocument();
    expect([reads.models.mock.calls.length, reads.datasets.mock.calls.length]).toEqual([2, 1]);
  });

  it("reads again what may have changed while the stream was interrupted", async () => {
    const reads = vi.fn();
    server.use(
      answers("/api/v1/runs", () => {
        reads();
        return page([]);
      }),
    );
    renderPage("/runs");
    await screen.findByText("No runs yet");
    act(() => FakeEventSource.of("/api/v1/stream").open());
    await screen.findAllByText("Live");
    expect(reads).toHaveBeenCalledTimes(1);
    act(() => FakeEventSource.of("/api/v1/stream").fail());
    expect(await screen.findAllByText(/^Offline since/)).not.toHaveLength(0);
    await waitFor(() => expect(FakeEventSource.instances.filter(({ url }) => url.startsWith("/api/v1/stream"))).toHaveLength(2));
    act(() => FakeEventSource.of("/api/v1/stream").open());
    await waitFor(() => expect(reads).toHaveBeenCalledTimes(2));
  });
});
