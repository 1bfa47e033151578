// SPDX-License-Identifier: Apache-2.0
// A fresh installation: the sign-in page creates its first administrator, who is signed in afterwards.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Me } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";

it("creates the first administrator with the code, names a wrong one, and leads on", async () => {
  const sent: unknown[] = [];
  let isDone = false;
  server.use(
    http.get("/api/v1/auth/me", () => (isDone ? HttpResponse.json<Me>(me({ is_staff: true })) : problem(401, {}))),
    http.get("/api/v1/auth/csrf", () => new HttpResponse(null, { status: 204 })),
    answers("/api/v1/auth/setup", { is_needed: true }),
    answers("/api/v1/cluster", cluster()),
    http.post("/api/v1/auth/setup", async ({ request }) => {
      const body = (await request.json()) as { code: string };
      sent.push(body);
      if (body.code !== "right") {
        const error = { field: "code", message: "The setup code is wrong.", remedy: "Print it anew." };
        return problem(403, { code: "wrong_setup_code", detail: error.message, errors: [error] });
      }
      isDone = true;
      return HttpResponse.json<Me>(me({ is_staff: true }), { status: 201 });
    }),
  );
  const { user } = renderPage("/cluster");
  await user.type(await screen.findByLabelText(/^Setup code/), "wrong");
  await user.type(screen.getByLabelText(/^User name/), "ada");
  await user.type(screen.getByLabelText(/^Password/), "correct horse battery");
  await user.type(screen.getByLabelText(/^First organisation/), "Acme");
  await user.click(screen.getByRole("button", { name: "Create the administrator" }));
  expect(await screen.findByText("The setup code is wrong. Print it anew.")).toBeVisible();
  await user.clear(screen.getByLabelText(/^Setup code/));
  await user.type(screen.getByLabelText(/^Setup code/), "right");
  await user.click(screen.getByRole("button", { name: "Create the administrator" }));
  expect(await screen.findByRole("heading", { level: 1, name: "Cluster" })).toBeVisible();
  expect(sent.at(-1)).toEqual({ code: "right", username: "ada", password: "correct horse battery", organisation: "Acme" });
});

it("lets a person who has an account sign in all the same", async () => {
  server.use(
    http.get("/api/v1/auth/me", () => problem(401, {})),
    answers("/api/v1/auth/setup", { is_needed: true }),
  );
  const { user } = renderPage("/sign-in");
  await user.click(await screen.findByRole("button", { name: "I have an account" }));
  expect(await screen.findByRole("heading", { name: "Sign in to MLHub" })).toBeVisible();
});
