// SPDX-License-Identifier: Apache-2.0
// Members: people are invited, see it, and accept or decline; admins see who has not answered.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Invitation, Membership, MyInvitation } from "@/api/types";
import { me, organisation } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const MEMBERS: Membership[] = [{ id: "m1", user: { id: "u9", username: "bob" }, role: "member", from_groups: false }];
const OFFERED: MyInvitation = {
  id: "i1",
  organisation: { id: "o2", name: "Globex" },
  role: "viewer",
  invited_by: { id: "u5", username: "charlie" },
  created_at: "2026-11-20T10:00:00Z",
  expires_at: "2026-12-04T10:00:00Z",
};

function invitation(username: string): Invitation {
  const { id, role, invited_by, created_at, expires_at } = OFFERED;
  return { id, username, email: "", role, invited_by, created_at, expires_at };
}

describe("Members", () => {
  it("says that the organisations could not be read, and tries again", async () => {
    let isBroken = true;
    server.use(
      http.get("/api/v1/organisations", () =>
        isBroken ? problem(500, { title: "Broken", detail: "The list is broken." }) : HttpResponse.json(page([organisation({ role: "member" })])),
      ),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
    );
    const { user } = renderPage("/members");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The list is broken.");
    isBroken = false;
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("cell", { name: "bob" })).toBeVisible();
  });

  it("lets an admin invite a person, and shows the invitation until it is answered", async () => {
    let pending: Invitation[] = [];
    let sent: unknown;
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
      answers("/api/v1/organisations/{id}/invitations", () => page(pending)),
      http.post("/api/v1/organisations/:id/invitations", async ({ request }) => {
        sent = await request.json();
        pending = [invitation("dora")];
        return HttpResponse.json({ ...pending[0], link: null, is_mailed: null }, { status: 201 });
      }),
    );
    const { user } = renderPage("/members");
    expect(await screen.findByRole("cell", { name: "bob" })).toBeVisible();
    await user.type(screen.getByLabelText("User name"), "dora");
    expect(screen.queryByRole("option", { name: /^Owner/ })).not.toBeInTheDocument();
    await user.selectOptions(screen.getByLabelText("Role"), "viewer");
    await user.click(screen.getByRole("button", { name: "Invite" }));
    const table = await screen.findByRole("table", { name: "Pending invitations" });
    expect(within(table).getByRole("cell", { name: "dora" })).toBeVisible();
    expect(sent).toEqual({ username: "dora", email: "", role: "viewer" });
  });

  it("lets an admin change the roles of others up to admin, and says why one is refused", async () => {
    const asked: unknown[] = [];
    const others: Membership[] = [
      { id: "m8", role: "owner", from_groups: false, user: { id: "u8", username: "olga" } },
      { id: "m9", role: "viewer", from_groups: true, user: { id: "u9b", username: "gina" } },
    ];
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", () => page([...MEMBERS, ...others])),
      answers("/api/v1/organisations/{id}/invitations", page([])),
      http.patch("/api/v1/memberships/:id", async ({ request, params }) => {
        asked.push([params.id, await request.json()]);
        return problem(409, { detail: "bob is the last owner." });
      }),
    );
    const { user } = renderPage("/members");
    const role = await screen.findByRole("combobox", { name: "Role of bob" });
    expect(within(role).queryByRole("option", { name: "owner" })).toBeNull();
    expect(screen.queryByRole("combobox", { name: "Role of olga" })).toBeNull(); // owners are changed by owners
    expect(screen.getByRole("row", { name: /gina/ })).toHaveTextContent("viewer (by group)");
    await user.selectOptions(role, "viewer");
    expect(await screen.findByText("bob is the last owner.")).toBeVisible();
    expect(asked).toEqual([["m1", { role: "viewer" }]]);
  });

  it("makes a link for a person without an account, and shows it once", async () => {
    const link = "http://mlhub/join#s3cret";
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
      answers("/api/v1/organisations/{id}/invitations", page([invitation("")])),
      http.post("/api/v1/organisations/:id/invitations", () =>
        HttpResponse.json({ ...invitation(""), link }, { status: 201 }),
      ),
    );
    const { user } = renderPage("/members");
    expect(await screen.findByRole("cell", { name: "a person with the link" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Make a link" }));
    expect(await screen.findByText(link)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "I have it" }));
    expect(screen.queryByText(link)).not.toBeInTheDocument();
  });

  it("says when the link was not mailed", async () => {
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
      answers("/api/v1/organisations/{id}/invitations", page([])),
      http.post("/api/v1/organisations/:id/invitations", () =>
        HttpResponse.json({ ...invitation(""), email: "dora@example.org", link: "http://mlhub/join#s3cret", is_mailed: false }, { status: 201 }),
      ),
    );
    const { user } = renderPage("/members");
    await user.type(await screen.findByLabelText("E-mail"), "dora@example.org");
    await user.click(screen.getByRole("button", { name: "Make a link" }));
    expect(await screen.findByText(/No mail was sent to dora@example.org: .* Give it to the person you invite./)).toBeVisible();
  });

  it("shows why a person cannot be invited", async () => {
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "owner" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
      answers("/api/v1/organisations/{id}/invitations", page([])),
      http.post("/api/v1/organisations/:id/invitations", () =>
        problem(409, { code: "already_member", detail: "bob belongs to Acme already." }),
      ),
    );
    const { user } = renderPage("/members");
    await user.type(await screen.findByLabelText("User name"), "bob");
    await user.click(screen.getByRole("button", { name: "Invite" }));
    expect(await screen.findByText("bob belongs to Acme already.")).toBeVisible();
  });

  it.each([
    ["Accept", "accept"],
    ["Decline", "decline"],
  ])("lets the invited %s, and asks before what is for good", async (button, verb) => {
    let waiting = [OFFERED];
    const answered: string[] = [];
    server.use(
      answers("/api/v1/auth/me", me({ memberships: [] })),
      answers("/api/v1/organisations", page([])),
      answers("/api/v1/invitations", () => page(waiting)),
      http.post("/api/v1/invitations/:id/:verb", ({ params }) => {
        answered.push(`${String(params.id)} ${String(params.verb)}`);
        waiting = [];
        if (params.verb === "decline") return new HttpResponse(null, { status: 204 });
        return HttpResponse.json({ organisation: OFFERED.organisation, role: OFFERED.role });
      }),
    );
    const { user } = renderPage("/members");
    expect(await screen.findByText("Globex invites you as viewer")).toBeVisible();
    await user.click(screen.getByRole("button", { name: new RegExp(`^${button}`) }));
    if (verb === "decline") {
      const asked = within(await screen.findByRole("dialog", { name: "Decline the invitation of Globex?" }));
      expect(answered).toEqual([]);
      await user.click(asked.getByRole("button", { name: "Decline" }));
    }
    await waitFor(() => expect(screen.queryByText("Globex invites you as viewer")).not.toBeInTheDocument());
    expect(answered).toEqual([`i1 ${verb}`]);
  });

  it("lets administrators of the platform add a person without asking", async () => {
    const added: unknown[] = [];
    server.use(
      answers("/api/v1/auth/me", me({ memberships: [], is_staff: true })),
      answers("/api/v1/organisations", page([organisation({ role: "owner" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
      answers("/api/v1/organisations/{id}/invitations", page([])),
      http.post("/api/v1/organisations/:id/members", async ({ request }) => {
        added.push(await request.json());
        return HttpResponse.json({ id: "m9", user: { id: "u9", username: "dora" }, role: "member" }, { status: 201 });
      }),
    );
    const { user } = renderPage("/members");
    const name = within(await screen.findByRole("form", { name: "Invite a person" })).getByLabelText("User name");
    expect(screen.queryByRole("button", { name: "Add without asking" })).not.toBeInTheDocument();
    await user.type(name, "dora");
    await user.click(screen.getByRole("button", { name: "Add without asking" }));
    await waitFor(() => expect(added).toEqual([{ username: "dora", role: "member" }]));
    expect(name).toHaveValue("");
  });

  it("shows a few of many invitations first, so that the page is not below them all", async () => {
    const many = Array.from({ length: 9 }, (_, at) => ({ ...OFFERED, id: `i${at}`, organisation: { ...OFFERED.organisation, name: `Org ${at}` } }));
    server.use(answers("/api/v1/invitations", page(many)));
    const { user } = renderPage("/members");
    expect(await screen.findByText("Org 0 invites you as viewer")).toBeVisible();
    expect(screen.getAllByText(/invites you as viewer/)).toHaveLength(3);
    await user.click(screen.getByRole("button", { name: "Show all 9 invitations" }));
    expect(screen.getAllByText(/invites you as viewer/)).toHaveLength(9);
  });

  it("shows members neither invitations nor the form to invite", async () => {
    server.use(
      answers("/api/v1/organisations", page([organisation({ role: "member" })])),
      answers("/api/v1/invitations", page([])),
      answers("/api/v1/organisations/{id}/members", page(MEMBERS)),
    );
    renderPage("/members");
    expect(await screen.findByRole("cell", { name: "bob" })).toBeVisible();
    expect(screen.queryByRole("form", { name: "Invite a person" })).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Remove bob" })).not.toBeInTheDocument();
  });
});
