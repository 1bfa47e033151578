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

it("shows teams below teams, and their path where one is chosen", async () => {
  shown("admin");
  const table = await screen.findByRole("table", { name: "Teams" });
  const [, ...rows] = within(table).getAllByRole<HTMLTableRowElement>("row");
  const cells = rows.map((row) => row.cells[0]);
  expect(cells.map((cell) => [cell?.textContent, cell?.style.getPropertyValue("--level")])).toEqual([
    ["research", "0"],
    ["vision", "1"],
    ["video", "2"],
  ]);
  const select = screen.getByLabelText(/^Team of/);
  expect(select).toHaveDisplayValue("research / vision / video");
});

it("moves a team, never below itself, and makes one below another", async () => {
  const { sent, user } = shown("admin");
  const select = await screen.findByLabelText("What vision is below");
  expect(within(select).getAllByRole("option").map(({ textContent }) => textContent)).toEqual([ACME.name, "research"]);
  await user.selectOptions(select, ACME.name);
  await user.type(screen.getByRole("textbox", { name: "New team" }), "audio");
  await user.selectOptions(screen.getByLabelText("Below"), "research / vision");
  await user.click(screen.getByRole("button", { name: "Create team" }));
  await expect.poll(() => sent).toEqual([
    { parent: null, seen: { parent: "research" } },
    { name: "audio", organisation: ACME.id, parent: "vision" },
  ]);
});

it("says why a team is not moved", async () => {
  const { user } = shown("admin");
  server.use(http.patch("/api/v1/teams/:id", () => problem(422, { code: "invalid", detail: "Teams would be 9 levels deep, and may be 8." })));
  await user.selectOptions(await screen.findByLabelText("What video is below"), "research");
  expect(await screen.findByText("Teams would be 9 levels deep, and may be 8.")).toBeVisible();
});

it("shows members the tree and nothing to change", async () => {
  shown("member");
  expect(await screen.findByRole("table", { name: "Teams" })).toBeVisible();
  expect(screen.getByRole("table", { name: "Projects" })).toHaveTextContent("research / vision / video");
  expect(screen.queryByRole("button", { name: "Rename vision" })).not.toBeInTheDocument();
  expect(screen.queryByRole("textbox", { name: "New team" })).not.toBeInTheDocument();
});

it("reads all teams, page by page, and searches among many", async () => {
  const { user } = shown("admin");
  const pages = { first: Array.from({ length: 50 }, (_, n) => team(`team ${n}`)), second: [team("vision", "research"), team("research")] };
  server.use(
    http.get("/api/v1/teams", ({ request }) => {
      const isSecond = new URL(request.url).searchParams.get("cursor") === "more";
      return HttpResponse.json({ previous: null, next: isSecond ? null : "http://localhost/api/v1/teams?cursor=more", results: isSecond ? pages.second : pages.first });
    }),
  );
  await user.click(await screen.findByLabelText("Search teams"));
  await user.paste("Research");
  expect(await screen.findByText("2 of 52 teams")).toBeVisible();
  expect(within(screen.getByRole("table", { name: "Teams" })).getAllByRole("row")).toHaveLength(3);
  await user.clear(screen.getByLabelText("Search teams"));
  await user.click(screen.getByRole("button", { name: "Show more teams" }));
  expect(within(screen.getByRole("table", { name: "Teams" })).getAllByRole("row")).toHaveLength(53);
});
