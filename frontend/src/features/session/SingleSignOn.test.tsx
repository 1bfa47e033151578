// SPDX-License-Identifier: Apache-2.0
// Signing in at a provider: the way there, why it failed, and the code that is asked for afterwards.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Me, SignInMethods } from "@/api/types";
import { me, signInMethods } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

const METHODS: SignInMethods = signInMethods({ single_sign_on: "Keycloak" });

beforeEach(() => {
  window.location.hash = "";
  server.use(
    answers("/api/v1/auth/methods", METHODS),
    http.get("/api/v1/auth/me", () => problem(401, {}), { once: true }),
    http.get("/api/v1/auth/csrf", () => new HttpResponse(null, { status: 204 })),
  );
});

it("leads to the provider and hands on where one wanted to go", async () => {
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/auth/single-sign-on", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({ address: new URL("#at-the-provider", window.location.href).href });
    }),
  );
  const { user } = renderPage("/sign-in?next=%2Fjobs%3Fstate%3DRUNNING");
  await user.click(await screen.findByRole("button", { name: "Sign in with Keycloak" }));
  await expect.poll(() => window.location.hash).toBe("#at-the-provider");
  expect(sent).toEqual([{ next: "/jobs?state=RUNNING" }]);
  expect(screen.getByLabelText(/^Password/)).toBeVisible();
});

it("says why it failed and what to do, and that the provider is away", async () => {
  const refusal = { code: "no_account", message: "There is no account for you here.", remedy: "Ask for one." };
  server.use(
    answers("/api/v1/auth/methods", { ...METHODS, refusal }),
    http.post("/api/v1/auth/single-sign-on", () => problem(503, { detail: "Keycloak cannot be used now." })),
  );
  const { user } = renderPage("/sign-in?refused=1");
  expect(await screen.findByText("There is no account for you here.")).toBeVisible();
  expect(screen.getByText("Ask for one.")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Sign in with Keycloak" }));
  expect(await screen.findByText("Keycloak cannot be used now.")).toBeVisible();
});

it("keeps the password for administrators where it is off", async () => {
  server.use(answers("/api/v1/auth/methods", { ...METHODS, has_passwords: false }));
  const { user } = renderPage("/sign-in");
  await screen.findByRole("button", { name: "Sign in with Keycloak" });
  expect(screen.queryByLabelText(/^Password/)).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Administrators sign in with a password" }));
  expect(screen.getByLabelText(/^Password/)).toBeVisible();
});

it("asks for the code of the second factor where the provider does not replace it", async () => {
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/auth/single-sign-on/code", async ({ request }) => {
      sent.push(await request.json());
      if (sent.length === 1) return problem(422, { code: "wrong_code", detail: "This code is wrong." });
      return HttpResponse.json<Me>(me());
    }),
  );
  const { user, router } = renderPage("/sign-in?code=1&next=%2Fdatasets");
  await user.type(await screen.findByLabelText(/^Code of your second factor/), "000000");
  await user.click(screen.getByRole("button", { name: "Sign in" }));
  expect(await screen.findByText("This code is wrong.")).toBeVisible();
  await user.type(screen.getByLabelText(/^Code of your second factor/), "123456");
  await user.click(screen.getByRole("button", { name: "Sign in" }));
  await expect.poll(() => router.state.location.pathname).toBe("/datasets");
  expect(sent).toEqual([{ code: "000000" }, { code: "123456" }]);
});
