// SPDX-License-Identifier: Apache-2.0
// Roles in a project: everyone sees who has which and from where, and why; admins give, change and withdraw.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { PersonRoles } from "@/api/types";
import { ACME, me, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const BINDING = "00000000-0000-7000-8000-0000000000b1";

function person(role: "member" | "viewer"): PersonRoles {
  const inOrganisation = { binding: null, role: "viewer", place: "organisation", place_id: ACME.id, place_name: "Acme" } as const;
  const here = { binding: BINDING, role, place: "project", place_id: project().id, place_name: project().name } as const;
  return { user: { id: "u5", username: "vera" }, is_service_account: false, role, assignments: [here, inOrganisation] };
}

function opened(mayAssign: boolean) {
  const asked = { action: "assign_roles", is_allowed: mayAssign, needed_role: "admin", place: "the project Vision", remedy: mayAssign ? "" : "Ask olga." };
  server.use(
    answers("/api/v1/auth/me", me()),
    answers("/api/v1/projects", page([project()])),
    answers("/api/v1/projects/{id}/roles", page([person("member")])),
    http.get("/api/v1/projects/:id/permissions", () =>
      HttpResponse.json({ user: { id: "u1", username: "ada" }, role: "member", assignments: [], permissions: [asked] }),
    ),
  );
  return renderPage(`/projects/${project().id}/roles`);
}

it("shows who has which role and from where, and whom to ask for more", async () => {
  opened(false);
  const row = (await screen.findByRole("cell", { name: "vera" })).closest("tr");
  if (row === null) throw new Error("no row");
  expect(row).toHaveTextContent("member · given here");
  expect(row).toHaveTextContent("viewer · organisation Acme");
  expect(await screen.findByText("Ask olga.")).toBeVisible();
  expect(screen.queryByRole("form", { name: "Give a role" })).not.toBeInTheDocument();
});

it("lets an admin give, change and withdraw roles, and shows why one cannot be given", async () => {
  const sent: unknown[] = [];
  server.use(
    http.patch("/api/v1/role-bindings/:id", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({});
    }),
    http.delete("/api/v1/role-bindings/:id", ({ params }) => {
      sent.push(params.id);
      return new HttpResponse(null, { status: 204 });
    }),
    // an admin of the project alone does not see the organisation's members, and types a name
    http.get("/api/v1/organisations/:id/members", () => problem(404, { code: "not_found", detail: "There is no organisation." })),
    http.post("/api/v1/projects/:id/roles", () =>
      problem(422, { code: "invalid_input", errors: [{ field: "username", message: "Acme has no member called zoe.", remedy: "Invite her." }] }),
    ),
  );
  const { user } = opened(true);
  await user.selectOptions(await screen.findByLabelText("Role of vera"), "admin");
  await user.click(screen.getByRole("button", { name: "Withdraw the role of vera" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Withdraw" }));
  await waitFor(() => expect(sent).toEqual([{ role: "admin" }, BINDING]));
  await user.type(await screen.findByLabelText("User name"), "zoe");
  await user.click(screen.getByRole("button", { name: "Give the role" }));
  expect(await screen.findByText("Acme has no member called zoe. Invite her.")).toBeVisible();
});

it("reads a page of the roles, and the next one when it is asked for", async () => {
  const { user } = opened(false);
  server.use(
    http.get("/api/v1/projects/:id/roles", ({ request }) => {
      const isLast = new URL(request.url).searchParams.get("cursor") === "c2";
      const rest = { ...person("viewer"), user: { id: "u6", username: "walter" } };
      return HttpResponse.json(isLast ? page([rest]) : { ...page([person("member")]), next: "http://x/?cursor=c2" });
    }),
  );
  await screen.findByRole("table", { name: "Roles" });
  expect(screen.queryByRole("cell", { name: "walter" })).toBeNull();
  await user.click(await screen.findByRole("button", { name: "Older" }));
  expect(await screen.findByRole("cell", { name: "walter" })).toBeVisible();
});
