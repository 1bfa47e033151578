// SPDX-License-Identifier: Apache-2.0
// The identity at the provider of single sign-on: linked with the password and the code, and unlinked.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Identity } from "@/api/types";
import { signInMethods } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const IDENTITY: Identity = {
  id: "00000000-0000-7000-8000-000000000001",
  issuer: "https://login.example.org",
  subject: "1",
  label: "ada@example.org",
  created_at: "2026-11-22T09:00:00Z",
  last_sign_in_at: null,
};

it("links an identity with password and code, shows it, and unlinks it", async () => {
  window.location.hash = "";
  let found: Identity[] = [];
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/methods", signInMethods({ single_sign_on: "Keycloak" })),
    answers("/api/v1/auth/sessions", page([])),
    answers("/api/v1/auth/notices", { topics: [], email: "", has_mail_server: false }),
    answers("/api/v1/auth/identities", () => page(found)),
    http.post("/api/v1/auth/identities", async ({ request }) => {
      const body = (await request.json()) as { code: string };
      sent.push(body);
      const errors = [{ field: "code", message: "This account has a second factor.", remedy: "" }];
      if (body.code === "") return problem(403, { code: "second_factor_needed", detail: errors[0]?.message, errors });
      return HttpResponse.json({ address: new URL("#at-the-provider", window.location.href).href });
    }),
    http.delete("/api/v1/auth/identities/:id", () => {
      found = [];
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user, unmount } = renderPage("/account");
  const form = within(await screen.findByRole("form", { name: "Link Keycloak" }));
  await user.type(form.getByLabelText(/^Your password/), "right");
  await user.click(form.getByRole("button", { name: "Link Keycloak" }));
  await user.type(await form.findByLabelText(/^Code of your second factor/), "123456");
  await user.click(form.getByRole("button", { name: "Link Keycloak" }));
  await expect.poll(() => window.location.hash).toBe("#at-the-provider");
  expect(sent).toEqual([{ password: "right", code: "" }, { password: "right", code: "123456" }]);
  unmount();

  found = [IDENTITY];
  renderPage("/account");
  expect(await screen.findByText("ada@example.org")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Unlink" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Unlink" }));
  expect(await screen.findByRole("form", { name: "Link Keycloak" })).toBeVisible();
});
