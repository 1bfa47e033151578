// SPDX-License-Identifier: Apache-2.0
// An organisation's projects: admins archive, open and rename them; who made one sees why it is not deleted.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Project } from "@/api/types";
import { organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const NAME = project().name;

function shown(role: "admin" | "member", isOwn = false) {
  let row: Project = project({ is_own: isOwn });
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/organisations", page([organisation({ role })])),
    answers("/api/v1/invitations", page([])),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    answers("/api/v1/projects", () => page([row])),
    http.patch("/api/v1/projects/:id", async ({ request }) => {
      const body = (await request.json()) as { name?: string; is_archived?: boolean };
      sent.push(body);
      row = { ...row, name: body.name ?? row.name, archived_at: body.is_archived ? "2026-11-22T10:00:00Z" : null };
      return HttpResponse.json<Project>(row);
    }),
  );
  return { sent, user: renderPage("/members").user };
}

it("creates a project, also where there are some already", async () => {
  const { user } = shown("member");
  const made: unknown[] = [];
  server.use(
    http.post("/api/v1/projects", async ({ request }) => {
      made.push(await request.json());
      return HttpResponse.json<Project>(project({ id: "made", name: "Speech" }), { status: 201 });
    }),
  );
  const form = within(await screen.findByRole("form", { name: `New project of ${organisation().name}` }));
  await user.type(form.getByRole("textbox", { name: "New project" }), " Speech {Enter}");
  await expect.poll(() => made).toEqual([{ name: "Speech", organisation: organisation().id, team: null }]);
  await expect.poll(() => form.getByRole("textbox", { name: "New project" })).toHaveProperty("value", "");
});

it("archives a project after asking, and opens it again", async () => {
  const { sent, user } = shown("admin");
  await user.click(await screen.findByRole("button", { name: `Archive ${NAME}` }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/takes no uploads and no jobs until it is opened again/)).toBeVisible();
  await user.click(dialog.getByRole("button", { name: "Archive" }));
  expect(await screen.findByText("Archived")).toBeVisible();
  await user.click(await screen.findByRole("button", { name: `Open ${NAME}` }));
  expect(await screen.findByRole("button", { name: `Archive ${NAME}` })).toBeVisible();
  expect(sent).toEqual([
    { is_archived: true, seen: { is_archived: false } },
    { is_archived: false, seen: { is_archived: true } },
  ]);
});

it("renames a project", async () => {
  const { sent, user } = shown("admin");
  await user.click(await screen.findByRole("button", { name: `Rename ${NAME}` }));
  const input = screen.getByLabelText(`New name of ${NAME}`);
  await user.clear(input);
  await user.type(input, "Speech");
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByRole("button", { name: "Rename Speech" })).toBeVisible();
  expect(sent).toEqual([{ name: "Speech", seen: { name: NAME } }]);
});

it("shows both names when another admin was first, and saves one's own over theirs on request", async () => {
  const { sent, user } = shown("admin");
  server.use(
    http.patch("/api/v1/projects/:id", async ({ request }) => {
      const body = (await request.json()) as { name: string; seen: { name: string } };
      sent.push(body);
      if (body.seen.name === "Theirs") return HttpResponse.json<Project>(project({ name: body.name }));
      const both = { present: { name: "Theirs" }, yours: { name: body.name } };
      return problem(409, { code: "changed_meanwhile", detail: "Another person changed the project meanwhile.", ...both });
    }),
  );
  await user.click(await screen.findByRole("button", { name: `Rename ${NAME}` }));
  await user.type(screen.getByLabelText(`New name of ${NAME}`), " 2");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const conflict = within(await screen.findByRole("alert"));
  expect(conflict.getByText("Theirs")).toBeVisible();
  expect(conflict.getByText(`${NAME} 2`)).toBeVisible();
  await user.click(conflict.getByRole("button", { name: "Save mine over them" }));
  await expect.poll(() => sent).toEqual([
    { name: `${NAME} 2`, seen: { name: NAME } },
    { name: `${NAME} 2`, seen: { name: "Theirs" } },
  ]);
});

it("says to who made a project what it holds that cannot be deleted", async () => {
  const { user } = shown("member", true);
  server.use(
    http.delete("/api/v1/projects/:id", () =>
      problem(409, { code: "not_empty", detail: `${NAME} holds 3 jobs, 1 dataset.`, remedy: "Delete those first." }),
    ),
  );
  await user.click(await screen.findByRole("button", { name: `Delete ${NAME}` }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  expect(await dialog.findByText(`${NAME} holds 3 jobs, 1 dataset.`)).toBeVisible();
});

it("shows members no buttons", async () => {
  shown("member");
  expect(await screen.findByRole("table", { name: "Projects" })).toBeVisible();
  expect(screen.queryByRole("button", { name: `Archive ${NAME}` })).not.toBeInTheDocument();
});

it("lets who made a project rename and delete it, and no more", async () => {
  shown("member", true);
  expect(await screen.findByRole("button", { name: `Rename ${NAME}` })).toBeVisible();
  expect(screen.getByRole("button", { name: `Delete ${NAME}` })).toBeVisible();
  expect(screen.queryByRole("button", { name: `Archive ${NAME}` })).not.toBeInTheDocument();
});
