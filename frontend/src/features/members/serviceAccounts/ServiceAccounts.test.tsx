// SPDX-License-Identifier: Apache-2.0
// Service accounts: an admin makes one and a token for it; members see them and change nothing.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Role, ServiceAccount, Token, TokenCreated } from "@/api/types";
import { organisation, token } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const CI: ServiceAccount = {
  id: "00000000-0000-7000-8000-0000000000c9",
  username: "ci@acme.service",
  role: "member",
  is_active: true,
  created_at: "2026-11-22T09:00:00Z",
  last_used_at: null,
};

function membersPage(role: Role, accounts: () => ServiceAccount[]) {
  server.use(
    answers("/api/v1/organisations", page([organisation({ role })])),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    answers("/api/v1/organisations/{id}/service-accounts", () => page(accounts())),
  );
  return renderPage("/members");
}

it("lets an admin make a service account and a token that is shown once", async () => {
  let accounts: ServiceAccount[] = [];
  let tokens: Token[] = [];
  const sent: unknown[] = [];
  server.use(
    http.post("/api/v1/organisations/:id/service-accounts", async ({ request }) => {
      sent.push(await request.json());
      accounts = [CI];
      return HttpResponse.json<ServiceAccount>(CI, { status: 201 });
    }),
    answers("/api/v1/service-accounts/{id}/tokens", () => page(tokens)),
    http.post("/api/v1/service-accounts/:id/tokens", async ({ request }) => {
      sent.push(await request.json());
      tokens = [token({ name: "runner" })];
      return HttpResponse.json<TokenCreated>({ ...token({ name: "runner" }), token: "mlh_s3cret" }, { status: 201 });
    }),
  );
  const { user } = membersPage("admin", () => accounts);
  await user.type(await screen.findByLabelText("Name of the service account"), "ci");
  await user.click(screen.getByRole("button", { name: "Make a service account" }));
  await user.click(await screen.findByRole("button", { name: "Tokens of ci@acme.service" }));
  const form = within(await screen.findByRole("form", { name: "Make a token for ci@acme.service" }));
  await user.type(form.getByLabelText("Name of the token"), "runner");
  await user.click(form.getByRole("button", { name: "Make a token" }));
  expect(await screen.findByText("mlh_s3cret")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "I have it" }));
  expect(screen.queryByText("mlh_s3cret")).not.toBeInTheDocument();
  expect(await screen.findByRole("button", { name: "Revoke runner" })).toBeVisible();
  expect(sent).toEqual([
    { name: "ci", role: "member" },
    { name: "runner", scopes: ["read", "submit"], expires_in_days: 90, project: null },
  ]);
});

it("asks which member becomes the maker of what a deleted account made", async () => {
  const asked: (string | null)[] = [];
  server.use(
    answers("/api/v1/service-accounts/{id}/deletion", { remains: [{ kind: "jobs", n: 3, n_running: 0 }, { kind: "logged models", n: 1, n_running: 0 }], sole_owner_of: [] }),
    http.delete("/api/v1/service-accounts/:id", ({ request }) => {
      asked.push(new URL(request.url).searchParams.get("reassign_to"));
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = membersPage("owner", () => (asked.length > 0 ? [] : [CI]));
  server.use(
    answers("/api/v1/organisations/{id}/members", page([{ id: "m1", user: { id: "u9", username: "bob" }, role: "member" }])),
  );
  await user.click(await screen.findByRole("button", { name: "Delete ci@acme.service" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(await dialog.findByRole("combobox", { name: "What stays (3 jobs, 1 logged model) passes to" }));
  await user.click(await screen.findByRole("option", { name: "bob" }));
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  expect(await screen.findByText("None yet: make the first one below.")).toBeVisible();
  expect(asked).toEqual(["u9"]);
});

it("shows members the accounts without a way to change them", async () => {
  membersPage("member", () => [CI]);
  expect(await screen.findByRole("cell", { name: "ci@acme.service" })).toBeVisible();
  expect(screen.queryByRole("button", { name: /ci@acme.service/ })).not.toBeInTheDocument();
  expect(screen.queryByRole("form", { name: "Make a service account" })).not.toBeInTheDocument();
});
