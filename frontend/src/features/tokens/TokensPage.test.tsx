// SPDX-License-Identifier: Apache-2.0
// API tokens: a new one is shown once, and revoking asks first.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Token, TokenCreated } from "@/api/types";
import { project, token } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const SECRET = "mlh_ab12secret";

describe("API tokens", () => {
  it("shows a new token once, to copy, and never again", async () => {
    let listed: Token[] = [];
    let asked: unknown;
    server.use(
      http.get("/api/v1/tokens", () => HttpResponse.json(page(listed))),
      http.post("/api/v1/tokens", async ({ request }) => {
        asked = await request.json();
        listed = [token()];
        return HttpResponse.json<TokenCreated>({ ...token(), token: SECRET }, { status: 201 });
      }),
    );
    const { user } = renderPage("/tokens");
    await user.type(await screen.findByLabelText("Name"), "laptop");
    await user.click(screen.getByRole("checkbox", { name: /^Write/ }));
    await user.selectOptions(screen.getByLabelText("Lifetime"), "30 days");
    await user.click(screen.getByRole("combobox", { name: "Reaches" }));
    await user.click(await screen.findByRole("option", { name: "Only the project Vision" }));
    await user.click(screen.getByRole("button", { name: "Make a token" }));

    expect(await screen.findByText(SECRET)).toBeVisible();
    const limit = { organisation: null, project: project().id };
    expect(asked).toEqual({ name: "laptop", scopes: ["read"], expires_in_days: 30, ...limit });
    await user.click(screen.getByRole("button", { name: "Copy" }));
    expect(await navigator.clipboard.readText()).toBe(SECRET);

    await user.click(screen.getByRole("button", { name: "I have it" }));
    expect(await screen.findByRole("cell", { name: "laptop" })).toBeVisible();
    expect(screen.queryByText(SECRET)).not.toBeInTheDocument();
  });

  it("says what a limited token reaches", async () => {
    const { id, name, organisation } = project();
    const limited = token({ organisation, project: { id, name, organisation } });
    server.use(answers("/api/v1/tokens", page([limited, token({ id: "t2", name: "all" })])));
    renderPage("/tokens");
    const table = within(await screen.findByRole("table", { name: "API tokens" }));
    expect(table.getByRole("cell", { name: "Vision" })).toBeVisible();
    expect(table.getByRole("cell", { name: "All" })).toBeVisible();
  });

  it("revokes a token only after asking", async () => {
    const revoked: unknown[] = [];
    server.use(
      answers("/api/v1/tokens", page([token()])),
      http.delete("/api/v1/tokens/:id", ({ params }) => {
        revoked.push(params.id);
        return new HttpResponse(null, { status: 204 });
      }),
    );
    const { user } = renderPage("/tokens");
    await user.click(await screen.findByRole("button", { name: "Revoke laptop" }));
    const dialog = await screen.findByRole("dialog");
    expect(revoked).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Revoke" }));
    await waitFor(() => expect(revoked).toEqual([token().id]));
  });
});
