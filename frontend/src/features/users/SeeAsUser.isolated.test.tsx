// SPDX-License-Identifier: Apache-2.0
// An administrator sees MLHub as a user: asked first, loaded anew, with a banner that ends it.
import { screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import type { User } from "@/api/types";
import { loadPage } from "@/lib/fullLoad";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

vi.mock("@/lib/fullLoad", () => ({ loadPage: vi.fn() }));

const AT = "2026-11-22T09:00:00Z";
const BOB: User = {
  ...{ id: "00000000-0000-7000-8000-0000000000c2", username: "bob", email: "", is_active: true, is_staff: false },
  ...{ has_password: true, created_at: AT, last_sign_in_at: null, service_of: null, memberships: [] },
};
const RITA: User = { ...BOB, id: "00000000-0000-7000-8000-0000000000c4", username: "rita", is_staff: true };
const ROBOT: User = { ...BOB, id: "00000000-0000-7000-8000-0000000000c5", username: "robot", is_active: false };

it("begins after a question, and loads the dashboard anew", async () => {
  const begun: unknown[] = [];
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    answers("/api/v1/users", () => page([BOB, RITA, ROBOT])),
    http.post("/api/v1/users/:id/impersonation", ({ params }) => {
      begun.push(params.id);
      return HttpResponse.json({ by: "ada", ends_at: AT }, { status: 201 });
    }),
  );
  const { user } = renderPage("/users");
  for (const name of ["bob", "rita", "robot"]) await user.click(await screen.findByRole("button", { name: `More for ${name}` }));
  expect(screen.getAllByRole("button", { name: /^See as/ })).toHaveLength(1); // no administrator, no deactivated account
  await user.click(screen.getByRole("button", { name: "See as bob" }));
  expect(begun).toEqual([]);
  await user.click(await screen.findByRole("button", { name: "See as user" }));
  await waitFor(() => expect(loadPage).toHaveBeenCalledWith("/"));
  expect(begun).toEqual([BOB.id]);
});

it("says on every page as whom one sees it and until when, and ends it", async () => {
  const ends = vi.fn(() => new HttpResponse(null, { status: 204 }));
  const ends_at = new Date(Date.now() + 600_000).toISOString();
  server.use(answers("/api/v1/auth/me", me({ username: "bob", impersonation: { by: "ada", ends_at } })), http.post("/api/v1/auth/impersonation/end", ends));
  const { user } = renderPage("/jobs");
  const banner = await screen.findByText("You see MLHub as bob");
  expect(banner).toBeVisible();
  expect(screen.getByText(/You are signed in as ada/)).toHaveTextContent("you read what bob reads, and change nothing");
  await user.click(screen.getByRole("button", { name: "End" }));
  await waitFor(() => expect(loadPage).toHaveBeenCalledWith("/users"));
  expect(ends).toHaveBeenCalledOnce();
});

it("says why it could not end", async () => {
  const ends_at = new Date(Date.now() + 600_000).toISOString();
  server.use(
    answers("/api/v1/auth/me", me({ impersonation: { by: "ada", ends_at } })),
    http.post("/api/v1/auth/impersonation/end", () => problem(503, { code: "unavailable", detail: "The database cannot be reached." })),
  );
  const { user } = renderPage("/jobs");
  await user.click(await screen.findByRole("button", { name: "End" }));
  expect(await screen.findByText("The database cannot be reached.")).toBeVisible();
});
