// SPDX-License-Identifier: Apache-2.0
// The audit: what a row says, which filters are sent, and the state of the chain for administrators.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Event } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const CHANGED: Event = {
  id: 7,
  kind: "quota.changed",
  organisation: null,
  subject_kind: "quota",
  subject_id: "00000000-0000-7000-8000-0000000000aa",
  actor: { username: "alice" },
  at: "2026-11-22T09:00:00Z",
  facts: { before: { max_gpus: 4, guarantee: null }, after: { max_gpus: 8, guarantee: 2 }, owner: "Acme", address: "192.0.2.7" },
};

function shown(path = "/audit") {
  const asked: URLSearchParams[] = [];
  server.use(
    http.get("/api/v1/events", ({ request }) => {
      asked.push(new URL(request.url).searchParams);
      return HttpResponse.json(page([CHANGED]));
    }),
  );
  return { asked, ...renderPage(path) };
}

it("says who did what, with before, after and the address", async () => {
  shown();
  const table = await screen.findByRole("table", { name: "Events" });
  for (const text of ["alice", "max_gpus: 4, guarantee: none", "max_gpus: 8, guarantee: 2", "192.0.2.7"]) {
    expect(within(table).getByRole("cell", { name: text })).toBeVisible();
  }
  expect(within(table).getByText("owner: Acme")).toBeVisible();
});

/** The people whom an organisation shows, searched as the API does. */
function people(...names: string[]) {
  const asked: string[] = [];
  server.use(
    http.get("/api/v1/organisations/:id/members", ({ request }) => {
      const search = new URL(request.url).searchParams.get("search") ?? "";
      asked.push(search);
      return HttpResponse.json(page(names.filter((name) => name.includes(search)).map((username) => ({ user: { id: username, username } }))));
    }),
  );
  return asked;
}

it("filters by person, kind, subject and day, and keeps the filters in the address", async () => {
  const searched = people("alice", "bob");
  const { asked, user, router } = shown("/audit?since=2026-11-01&until=nonsense");
  await screen.findByRole("table", { name: "Events" });
  expect(asked[0]?.get("since")).toBe("2026-11-01T00:00:00Z");
  expect(asked[0]?.has("until")).toBe(false);
  await user.selectOptions(screen.getByLabelText("Kind"), "quota.");
  await user.type(await screen.findByRole("combobox", { name: "Person" }), "ali");
  await expect.poll(() => searched.at(-1)).toBe("ali");
  await user.click(await screen.findByRole("option", { name: "alice" }));
  await user.click(await screen.findByRole("button", { name: "Only this quota" }));
  await expect.poll(() => asked.at(-1)?.get("subject")).toBe(CHANGED.subject_id);
  expect([asked.at(-1)?.get("kind_prefix"), asked.at(-1)?.get("actor")]).toEqual(["quota.", "alice"]);
  expect(router.state.location.search).toContain("actor=alice");
});

it("shows the person whom the address names, also one whom no list offers, and lets go of them", async () => {
  people("alice");
  const { asked, user, router } = shown("/audit?actor=gone");
  await screen.findByRole("table", { name: "Events" });
  expect(asked[0]?.get("actor")).toBe("gone");
  const field = await screen.findByRole("combobox", { name: "Person" });
  await expect.poll(() => (field as HTMLInputElement).value).toBe("gone");
  await user.click(field);
  await user.click(await screen.findByRole("option", { name: "gone" })); // chosen again
  await expect.poll(() => router.state.location.search).toBe("");
});

it("filters by the person of a row", async () => {
  const { user, router } = shown();
  await user.click(await screen.findByRole("button", { name: "alice" }));
  await expect.poll(() => router.state.location.search).toBe("?actor=alice");
});

it("exports what the filters leave", async () => {
  shown("/audit?since=2026-11-01&kind_prefix=quota.&cursor=abc");
  const link = await screen.findByRole("link", { name: "Export CSV" });
  expect(link).toHaveAttribute("href", "/api/v1/events/export?kind_prefix=quota.&since=2026-11-01T00%3A00%3A00Z&form=csv");
  expect(screen.getByRole("link", { name: "Export JSON lines" })).toHaveAttribute("href", expect.stringContaining("form=jsonl"));
});

it("shows administrators of the platform whether the chain is intact", async () => {
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    answers("/api/v1/events/verify", { is_intact: false, n_events: 6, head: "ab", problem: "Event 7 was changed." }),
  );
  const { user } = shown();
  await user.click(await screen.findByRole("button", { name: "Verify the chain" }));
  expect(await screen.findByText("Event 7 was changed.")).toBeVisible();
});

it("offers members no verification", async () => {
  shown();
  await screen.findByRole("table", { name: "Events" });
  expect(screen.queryByRole("button", { name: "Verify the chain" })).not.toBeInTheDocument();
});
