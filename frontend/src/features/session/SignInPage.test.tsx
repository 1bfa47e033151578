// SPDX-License-Identifier: Apache-2.0
// Signing in, as a person does it.
import { screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Me } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { cluster } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";

const REFUSED = {
  code: "not_authenticated",
  title: "Not signed in",
  detail: "The user name or the password is wrong.",
};

beforeEach(() => {
  let isSignedIn = false;
  document.cookie = "csrftoken=; max-age=0";
  server.use(
    http.get("/api/v1/auth/me", () => (isSignedIn ? HttpResponse.json<Me>(me()) : problem(401, REFUSED))),
    http.get("/api/v1/auth/csrf", () => {
      document.cookie = "csrftoken=fresh";
      return new HttpResponse(null, { status: 204 });
    }),
    http.post("/api/v1/auth/login", async ({ request }) => {
      const { username, password } = (await request.json()) as { username: string; password: string };
      if (request.headers.get("X-CSRFToken") !== "fresh") return problem(403, { detail: "CSRF token missing." });
      if (username !== "ada" || password !== "right") return problem(401, REFUSED);
      isSignedIn = true;
      return HttpResponse.json<Me>(me());
    }),
    answers("/api/v1/cluster", cluster()),
  );
});

describe("Signing in", () => {
  it("says why it failed, then leads to where one wanted to go", async () => {
    const { user, router } = renderPage("/cluster");
    await user.type(await screen.findByLabelText(/^User name/), "ada");
    await user.type(screen.getByLabelText(/^Password/), "wrong");
    await user.click(screen.getByRole("button", { name: "Sign in" }));

    expect(await screen.findByRole("alert")).toHaveTextContent("The user name or the password is wrong.");
    expect(screen.getByLabelText(/^Password/)).toHaveValue("");

    await user.type(screen.getByLabelText(/^Password/), "right");
    await user.click(screen.getByRole("button", { name: "Sign in" }));

    expect(await screen.findByRole("heading", { level: 1, name: "Cluster" })).toBeVisible();
    expect(router.state.location.pathname).toBe("/cluster");
  });

  it("never leads to another site", async () => {
    const { user, router } = renderPage("/sign-in?next=https%3A%2F%2Felsewhere.example%2Fcluster");
    server.use(answers("/api/v1/jobs", { next: null, previous: null, results: [] }));
    await user.type(await screen.findByLabelText(/^User name/), "ada");
    await user.type(screen.getByLabelText(/^Password/), "right");
    await user.click(screen.getByRole("button", { name: "Sign in" }));

    await waitFor(() => expect(router.state.location.pathname).toBe("/"));
  });

  it("asks for the code of a second factor after the password, and keeps the password meanwhile", async () => {
    const given: string[] = [];
    server.use(
      http.post("/api/v1/auth/login", async ({ request }) => {
        const { password, code } = (await request.json()) as { password: string; code: string };
        given.push(`${password} ${code}`);
        if (code === "") return problem(403, { code: "second_factor_needed", detail: "This account has a second factor." });
        if (code !== "123456") return problem(422, { code: "wrong_code", detail: "This code is wrong.", errors: [] });
        return HttpResponse.json<Me>(me({ needs_second_factor: true }));
      }),
      http.get("/api/v1/auth/me", () => (given.at(-1) === "right 123456" ? HttpResponse.json<Me>(me()) : problem(401, REFUSED))),
    );
    const { user, router } = renderPage("/sign-in");
    await user.type(await screen.findByLabelText(/^User name/), "ada");
    await user.type(screen.getByLabelText(/^Password/), "right");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    await user.type(await screen.findByLabelText(/^Code of your second factor/), "000000");
    expect(screen.queryByRole("alert")).not.toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("This code is wrong.");
    await user.type(screen.getByLabelText(/^Code of your second factor/), "123456");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/account"));
    expect(given).toEqual(["right ", "right 000000", "right 123456"]);
  });
});
