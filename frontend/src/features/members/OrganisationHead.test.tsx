// SPDX-License-Identifier: Apache-2.0
// Organisations: administrators create them, owners rename and archive them, admins move projects between teams.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Organisation, Project } from "@/api/types";
import { me, organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

let row: Organisation;
let sent: unknown[];

beforeEach(() => {
  sent = [];
  row = organisation({ role: "owner" });
  server.use(
    answers("/api/v1/organisations", () => page([row])),
    answers("/api/v1/invitations", page([])),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    http.patch("/api/v1/organisations/:id", async ({ request }) => {
      const body = (await request.json()) as { name?: string; is_archived?: boolean };
      sent.push(body);
      row = { ...row, name: body.name ?? row.name, archived_at: body.is_archived ? "2026-11-22T10:00:00Z" : null };
      return HttpResponse.json(row);
    }),
  );
});

it("is renamed by an owner, archived after asking, and opened again", async () => {
  const { user } = renderPage("/members");
  await user.click(await screen.findByRole("button", { name: "Rename organisation" }));
  await user.type(screen.getByLabelText("New name of Acme"), " Labs");
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByRole("heading", { name: "Acme Labs" })).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Archive organisation" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Archive organisation" }));
  await user.click(await screen.findByRole("button", { name: "Open organisation" }));
  expect(await screen.findByRole("button", { name: "Archive organisation" })).toBeVisible();
  expect(sent).toEqual([
    { name: "Acme Labs", seen: { name: "Acme" } },
    { is_archived: true, seen: { is_archived: false } },
    { is_archived: false, seen: { is_archived: true } },
  ]);
});

it("offers admins who own nothing no such button", async () => {
  row = organisation({ role: "admin" });
  renderPage("/members");
  expect(await screen.findByRole("heading", { name: "Acme" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Delete organisation" })).not.toBeInTheDocument();
  expect(screen.queryByRole("form", { name: "New organisation" })).not.toBeInTheDocument();
});

it("is created by an administrator of the platform", async () => {
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    http.post("/api/v1/organisations", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(organisation({ name: "Globex" }), { status: 201 });
    }),
  );
  const { user } = renderPage("/members");
  const form = within(await screen.findByRole("form", { name: "New organisation" }));
  await user.type(form.getByLabelText("Name"), "Globex");
  await user.click(form.getByRole("button", { name: "Create organisation" }));
  await expect.poll(() => sent).toEqual([{ name: "Globex" }]);
});

it("moves a project to another team", async () => {
  const team = { id: "00000000-0000-7000-8000-0000000000aa", name: "Core", organisation: project().organisation, parent: null };
  server.use(
    answers("/api/v1/teams", page([team])),
    http.patch("/api/v1/projects/:id", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json<Project>(project({ team }));
    }),
  );
  const { user } = renderPage("/members");
  await user.click(await screen.findByRole("combobox", { name: `Team of ${project().name}` }));
  await user.click(await screen.findByRole("option", { name: "Core" }));
  await expect.poll(() => sent).toEqual([{ team: team.id, seen: { team: null } }]);
});
