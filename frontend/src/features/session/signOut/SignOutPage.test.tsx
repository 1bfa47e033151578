// SPDX-License-Identifier: Apache-2.0
// Signing out: streams end and nothing is read before the session ends, so that no request is refused on the way.
import { screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { afterEach, expect, it } from "vitest";

import { FakeEventSource } from "@/testing/eventsource";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

afterEach(() => server.events.removeAllListeners());

function endsSessions(status = 204) {
  const seen: { requests: string[]; openStreams: number | null } = { requests: [], openStreams: null };
  server.use(
    answers("/api/v1/cluster", { racks: [], backend: { away_since: null } }),
    http.post("/api/v1/auth/logout", () => {
      seen.openStreams = FakeEventSource.instances.filter(({ readyState }) => readyState !== FakeEventSource.CLOSED).length;
      server.events.on("request:start", ({ request }) => seen.requests.push(new URL(request.url).pathname));
      return status === 204 ? new HttpResponse(null, { status }) : problem(status, { code: "refused", detail: "The platform is away." });
    }),
  );
  return seen;
}

it("ends the stream first, and reads nothing of the session afterwards", async () => {
  const seen = endsSessions();
  const { user, router } = renderPage("/jobs");
  await user.click(await screen.findByRole("button", { name: /^Account of/ }));
  FakeEventSource.of("/api/v1/stream").open();
  await user.click(await screen.findByRole("menuitem", { name: "Sign out" }));
  expect(await screen.findByRole("heading", { name: "Sign in to MLHub" })).toBeVisible();
  expect(router.state.location.pathname).toBe("/sign-in");
  await waitFor(() => expect(seen.requests).toContain("/api/v1/auth/methods"));
  expect(seen.openStreams).toBe(0);
  expect(new Set(seen.requests)).toEqual(new Set(["/api/v1/auth/setup", "/api/v1/auth/methods"]));
});

it("asks first who came by a link, and takes a session that has ended for signed out", async () => {
  endsSessions(401);
  const { user } = renderPage("/sign-out");
  await user.click(await screen.findByRole("button", { name: "Sign out" }));
  expect(await screen.findByRole("heading", { name: "Sign in to MLHub" })).toBeVisible();
});

it("says why it could not, and offers to try again or to stay", async () => {
  endsSessions(503);
  const { user } = renderPage("/sign-out");
  await user.click(await screen.findByRole("button", { name: "Sign out" }));
  expect(await screen.findByText("The platform is away.")).toBeVisible();
  expect(screen.getByRole("button", { name: "Sign out" })).toBeEnabled();
  expect(screen.getByRole("link", { name: "Stay signed in" })).toHaveAttribute("href", "/");
});
