// SPDX-License-Identifier: Apache-2.0
// What the organisation's stream does to the pages: what they read again, and where they lead when the server ends it.
import { act, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it, vi } from "vitest";

import { FakeEventSource } from "@/testing/eventsource";
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
