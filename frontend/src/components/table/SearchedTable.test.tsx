// SPDX-License-Identifier: Apache-2.0
// A table with a search: of the API, page by page, and of rows that are here; the search stands in the address.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { organisation } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const PEOPLE = Array.from({ length: 10_000 }, (_, n) => `person${String(n).padStart(5, "0")}`);

/** As the API does: 50 rows of those that contain the search. */
function members(asked: string[]) {
  return http.get("/api/v1/organisations/:id/members", ({ request }) => {
    const query = new URL(request.url).searchParams;
    if (!query.has("role")) asked.push(query.toString()); // others ask who gives roles
    const found = PEOPLE.filter((name) => name.includes(query.get("search") ?? ""));
    const begin = Number(query.get("cursor") ?? 0);
    const results = found.slice(begin, begin + 50).map((username) => ({ id: username, user: { id: username, username }, role: "member", from_groups: false }));
    const at = (cursor: number) => `http://x/?cursor=${cursor}`;
    return HttpResponse.json({ next: begin + 50 < found.length ? at(begin + 50) : null, previous: begin > 0 ? at(begin - 50) : null, results });
  });
}

function serve(asked: string[]) {
  server.use(
    answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
    answers("/api/v1/invitations", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    members(asked),
  );
}

const rows = async () => within(await screen.findByRole("table", { name: "Members" })).getAllByRole("row").slice(1);

it("reads a page of 10,000 members, and what is searched for", async () => {
  const asked: string[] = [];
  serve(asked);
  const { user, router } = renderPage("/members");
  expect(await rows()).toHaveLength(50);
  expect(asked).toEqual([""]);
  await user.type(screen.getByLabelText("Search: Members"), "0777");
  expect(await screen.findByRole("cell", { name: "person00777" })).toBeVisible();
  await expect.poll(async () => (await rows()).length).toBe(11);
  expect(asked.at(-1)).toBe("search=0777");
  expect(router.state.location.search).toBe("?member=0777");
  await user.clear(screen.getByLabelText("Search: Members"));
  await user.type(screen.getByLabelText("Search: Members"), "nobody");
  expect(await screen.findByText("Nothing contains “nobody”.")).toBeVisible();
});

it("shows at once what a link searches for, on its page", async () => {
  const asked: string[] = [];
  serve(asked);
  const { user } = renderPage("/members?member=person0&member_cursor=50");
  expect(await rows()).toHaveLength(50);
  expect(asked).toEqual(["search=person0&cursor=50"]);
  expect(screen.getByLabelText("Search: Members")).toHaveValue("person0");
  const pages = within(within(screen.getByRole("main")).getByRole("navigation", { name: "Pages" }));
  await user.click(pages.getByRole("button", { name: "Older" }));
  await expect.poll(() => asked.at(-1)).toBe("search=person0&cursor=100");
});
