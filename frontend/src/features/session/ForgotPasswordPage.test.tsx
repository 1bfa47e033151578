// SPDX-License-Identifier: Apache-2.0
// A forgotten password: from the sign-in page to the link that is on its way, and to people where no mail server is.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { signInMethods } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

beforeEach(() => {
  server.use(http.get("/api/v1/auth/me", () => problem(401, {})));
});

it("asks for a link by name, and says what happens without saying who exists", async () => {
  const asked: unknown[] = [];
  server.use(
    answers("/api/v1/auth/methods", signInMethods({ sends_password_links: true, single_sign_on: "Keycloak" })),
    http.post("/api/v1/auth/forgotten-password", async ({ request }) => {
      asked.push(await request.json());
      if (asked.length === 2) return problem(429, { detail: "Too many requests.", code: "rate_limited" });
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/sign-in");
  await user.click(await screen.findByRole("link", { name: "Forgot your password?" }));
  await user.type(await screen.findByLabelText(/^User name or e-mail address/), " bob@example.org ");
  await user.click(screen.getByRole("button", { name: "Send the link" }));
  expect(await screen.findByRole("status")).toHaveTextContent("If bob@example.org signs in here with a password");
  expect(screen.getByText(/People who sign in with Keycloak have no password here/)).toBeVisible();
  expect(asked).toEqual([{ account: "bob@example.org" }]);

  await user.click(screen.getByRole("button", { name: "Try another name" }));
  await user.click(screen.getByRole("button", { name: "Send the link" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("Too many requests.");
});

it("says who helps where no mail server is set", async () => {
  server.use(answers("/api/v1/auth/methods", signInMethods({ sends_password_links: false })));
  renderPage("/forgot-password");
  expect(await screen.findByText(/Ask an administrator of the platform/)).toBeVisible();
  expect(screen.getByText("manage.py changepassword NAME")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Send the link" })).not.toBeInTheDocument();
});
