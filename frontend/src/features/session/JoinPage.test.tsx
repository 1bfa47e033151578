// SPDX-License-Identifier: Apache-2.0
// The link of an invitation: the offer is shown before anything is accepted, for people with and without an account.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Me, MyInvitation } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const OFFER: MyInvitation = {
  id: "i1",
  organisation: { id: "o2", name: "Globex" },
  role: "viewer",
  invited_by: { id: "u5", username: "charlie" },
  created_at: "2026-11-20T10:00:00Z",
  expires_at: "2099-12-04T10:00:00Z",
};
let sent: unknown[];

beforeEach(() => {
  sent = [];
  server.use(
    http.get("/api/v1/auth/csrf", () => new HttpResponse(null, { status: 204 })),
    http.post("/api/v1/auth/invitation", () => HttpResponse.json(OFFER)),
    http.post("/api/v1/auth/invitation/accept", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json<Me>(me());
    }),
    answers("/api/v1/jobs", page([])),
  );
});

it("offers who is signed in to join with that account", async () => {
  const { user, router } = renderPage("/join#s3cret");
  expect(await screen.findByText("Globex")).toBeVisible();
  expect(screen.getByText("viewer")).toBeVisible();
  expect(sent).toEqual([]);
  await user.click(await screen.findByRole("button", { name: "Join as ada" }));
  await expect.poll(() => router.state.location.pathname).toBe("/");
  expect(sent).toEqual([{ secret: "s3cret", username: "", password: "" }]);
});

it("makes an account for a newcomer", async () => {
  server.use(http.get("/api/v1/auth/me", () => problem(401, {}), { once: true }));
  const { user, router } = renderPage("/join#s3cret");
  await user.type(await screen.findByLabelText(/^User name/), "dora");
  await user.type(screen.getByLabelText(/^Password/), "correct horse battery");
  await user.click(screen.getByRole("button", { name: "Create the account and join" }));
  await expect.poll(() => router.state.location.pathname).toBe("/");
  expect(sent).toEqual([{ secret: "s3cret", username: "dora", password: "correct horse battery" }]);
});

it("says of a used link that it was used", async () => {
  server.use(
    http.post("/api/v1/auth/invitation", () =>
      problem(403, { code: "link_void", detail: "This invitation was used, was withdrawn, or has expired." }),
    ),
  );
  renderPage("/join#s3cret");
  expect(await screen.findByText("This invitation was used, was withdrawn, or has expired.")).toBeVisible();
  expect(screen.queryByRole("button", { name: /Join/ })).not.toBeInTheDocument();
});
