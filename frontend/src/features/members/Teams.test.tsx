// SPDX-License-Identifier: Apache-2.0
// An organisation's teams: shown as a tree; admins make, move, rename and delete them, and see why one is not moved.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Team } from "@/api/types";
import { organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const { id, name } = organisation();
const ACME = { id, name };

function team(called: string, above?: string): Team {
  return { id: called, name: called, organisation: ACME, parent: above === undefined ? null : { id: above, name: above } };
}

function shown(role: "admin" | "member") {
  const sent: unknown[] = [];
  const keep = async ({ request }: { request: Request }) => {
    sent.push(await request.json());
    return HttpResponse.json<Team>(team("vision"));
  };
  server.use(
    answers("/api/v1/organisations", page([organisation({ role })])),
    answers("/api/v1/invitations", page([])),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    answers("/api/v1/projects", page([project({ team: { id: "video", name: "video" } })])),
    answers("/api/v1/teams", page([team("vision", "research"), team("video", "vision"), team("research")])),
    http.post("/api/v1/teams", keep),
    http.patch("/api/v1/teams/:id", keep),
  );
  return { sent, user: renderPage("/members").user };
}

it("shows teams below teams, and the team of a project", async () => {
  shown("admin");
  const table = await screen.findByRole("table", { name: "Teams" });
  const [, ...rows] = within(table).getAllByRole<HTMLTableRowElement>("row");
  const cells = rows.map((row) => row.cells[0]);
  expect(cells.map((cell) => [cell?.textContent, cell?.style.getPropertyValue("--level")])).toEqual([
    ["research", "0"],
    ["vision", "1"],
    ["video", "2"],
  ]);
  expect(await screen.findByRole("combobox", { name: /^Team of/ })).toHaveDisplayValue("video");
});

it("moves a team, not below itself, and makes one below another", async () => {
  const { sent, user } = shown("admin");
  await user.click(await screen.findByRole("combobox", { name: "What vision is below" }));
  const offered = await within(await screen.findByRole("listbox", { name: "What vision is below" })).findAllByRole("option");
  expect(offered.map(({ textContent }) => textContent)).toEqual([ACME.name, "video", "research"]);
  await user.click(within(screen.getByRole("listbox")).getByRole("option", { name: ACME.name }));
  await user.type(screen.getByRole("textbox", { name: "New team" }), "audio");
  await user.click(screen.getByRole("combobox", { name: "Below" }));
  await user.click(await screen.findByRole("option", { name: "vision" }));
  await user.click(screen.getByRole("button", { name: "Create team" }));
  await expect.poll(() => sent).toEqual([
    { parent: null, seen: { parent: "research" } },
    { name: "audio", organisation: ACME.id, parent: "vision" },
  ]);
});

it("says why a team is not moved", async () => {
  const { user } = shown("admin");
  server.use(http.patch("/api/v1/teams/:id", () => problem(422, { code: "invalid", detail: "Teams would be 9 levels deep, and may be 8." })));
  await user.click(await screen.findByRole("combobox", { name: "What video is below" }));
  await user.click(await screen.findByRole("option", { name: "research" }));
  expect(await screen.findByText("Teams would be 9 levels deep, and may be 8.")).toBeVisible();
});

it("shows members the tree and nothing to change", async () => {
  shown("member");
  expect(await screen.findByRole("table", { name: "Teams" })).toBeVisible();
  expect(screen.getByRole("table", { name: "Projects" })).toHaveTextContent("video");
  expect(screen.queryByRole("button", { name: "Rename vision" })).not.toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "New team" })).not.toBeInTheDocument();
});

it("reads a page of teams, and has the API search among all of them", async () => {
  const asked: string[] = [];
  const { user } = shown("admin");
  const first = Array.from({ length: 12 }, (_, n) => team(`team ${n}`));
  server.use(
    http.get("/api/v1/teams", ({ request }) => {
      const { searchParams } = new URL(request.url);
      asked.push(searchParams.get("search") ?? "");
      const found = searchParams.get("search") === "Research" ? [team("vision", "research"), team("research")] : first;
      return HttpResponse.json({ previous: null, next: found === first ? "http://localhost/api/v1/teams?cursor=more" : null, results: found });
    }),
  );
  await user.click(await screen.findByLabelText("Search: Teams"));
  await user.paste("Research");
  await expect.poll(() => within(screen.getByRole("table", { name: "Teams" })).getAllByRole("row")).toHaveLength(3);
  expect(new Set(asked)).toEqual(new Set(["", "Research"]));
  // the page, the choices of all rows together, and the search: not one request a row
  expect(asked.length).toBeLessThan(first.length);
});
