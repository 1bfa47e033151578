// SPDX-License-Identifier: Apache-2.0
// What the organisation's stream does to the pages: here, when the server ends it.
import { act, screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

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
});
