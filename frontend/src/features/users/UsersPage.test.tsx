// SPDX-License-Identifier: Apache-2.0
// Accounts as administrators manage them: the link of a new one, deactivating, and what a deletion asks first.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { User } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const AT = "2026-11-22T09:00:00Z";
const BOB: User = {
  id: "00000000-0000-7000-8000-0000000000c2",
  username: "bob",
  email: "",
  is_active: true,
  is_staff: false,
  has_password: true,
  created_at: AT,
  last_sign_in_at: null,
  service_of: null,
  memberships: [{ id: "m", organisation: { id: "00000000-0000-7000-8000-0000000000a1", name: "Acme" }, role: "member" }],
};
const EVE: User = { ...BOB, id: "00000000-0000-7000-8000-0000000000c3", username: "eve" };

function shown() {
  let bob = BOB;
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    answers("/api/v1/users", () => page([bob, EVE])),
    answers("/api/v1/users/{id}/deletion", { remains: [{ kind: "datasets", n: 1, n_running: 0 }, { kind: "jobs", n: 3, n_running: 2 }], sole_owner_of: [] }),
    http.post("/api/v1/users", async ({ request }) => {
      const body = (await request.json()) as { username: string };
      sent.push(body);
      const made = { ...BOB, username: body.username, link: "http://mlhub/set-password#s3cret", link_expires_at: AT };
      return HttpResponse.json(made, { status: 201 });
    }),
    http.patch("/api/v1/users/:id", async ({ request }) => {
      const body = (await request.json()) as Partial<User>;
      sent.push(body);
      bob = { ...bob, ...body };
      return HttpResponse.json(bob);
    }),
    http.delete("/api/v1/users/:id", ({ request }) => {
      sent.push(new URL(request.url).search);
      return new HttpResponse(null, { status: 204 });
    }),
  );
  return { sent, user: renderPage("/users").user };
}

it("makes an account and shows the link once", async () => {
  const { sent, user } = shown();
  await user.type(await screen.findByLabelText("User name"), "dora");
  await user.click(screen.getByRole("button", { name: "Create user" }));
  expect(await screen.findByText("http://mlhub/set-password#s3cret")).toBeVisible();
  expect(sent[0]).toMatchObject({ username: "dora", is_staff: false, organisation: null });
  await user.click(screen.getByRole("button", { name: "I have it" }));
  expect(screen.queryByText("http://mlhub/set-password#s3cret")).not.toBeInTheDocument();
});

it("offers every role of an organisation, as invitations do", async () => {
  shown();
  const roles = within(await screen.findByLabelText("Role")).getAllByRole("option");
  const values = roles.map((option) => (option as HTMLOptionElement).value);
  expect(values).toEqual(["outsider", "viewer", "auditor", "submitter", "member", "admin", "owner"]);
});

it("searches accounts by name and e-mail address at the API, and keeps the search in the address", async () => {
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    http.get("/api/v1/users", ({ request }) => {
      const search = new URL(request.url).searchParams.get("search");
      const many = Array.from({ length: 12 }, (_, n) => ({ ...BOB, id: `u${n}`, username: `user${n}` }));
      return HttpResponse.json(page(search === null ? many : search === "eve@uni" ? [EVE] : []));
    }),
  );
  const { user, router } = renderPage("/users");
  const field = await screen.findByRole("searchbox", { name: "Search: Users" });
  await user.type(field, "eve@uni");
  expect(await screen.findByRole("button", { name: "Deactivate eve" })).toBeVisible();
  expect(router.state.location.search).toBe("?search=eve%40uni");
});

it("deactivates after asking, and reactivates", async () => {
  const { sent, user } = shown();
  await user.click(await screen.findByRole("button", { name: "Deactivate bob" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Deactivate" }));
  await user.click(await screen.findByRole("button", { name: "Reactivate bob" }));
  expect(await screen.findByRole("button", { name: "Deactivate bob" })).toBeVisible();
  expect(sent).toEqual([{ is_active: false }, { is_active: true }]);
});

it("says what a deleted user leaves and asks to whom it passes", async () => {
  const { sent, user } = shown();
  expect(screen.queryByRole("button", { name: "Delete bob" })).toBeNull(); // a row stays one line until more is asked for
  await user.click(await screen.findByRole("button", { name: "More for bob" }));
  await user.click(await screen.findByRole("button", { name: "Delete bob" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(await dialog.findByRole("combobox", { name: "What stays (1 dataset, 3 jobs (2 run now)) passes to" }));
  await user.click(await screen.findByRole("option", { name: "eve" }));
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  await expect.poll(() => sent).toEqual([`?reassign_to=${EVE.id}`]);
});

it("asks before it gives all rights, takes them, or ends sessions", async () => {
  let nEnded = 0;
  const { sent, user } = shown();
  server.use(
    http.delete("/api/v1/users/:id/sessions", () => {
      nEnded += 1;
      return HttpResponse.json({ n_sessions: 2 });
    }),
  );
  await user.click(await screen.findByRole("button", { name: "More for bob" }));
  expect(screen.getByRole("button", { name: "Less for bob" })).toHaveTextContent("Less"); // its name begins with what is seen
  await user.click(screen.getByRole("button", { name: "Make administrator: bob" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Make bob an administrator?" }));
  expect(dialog.getByText(/sees and changes everything of all organisations/)).toBeVisible();
  expect(sent).toEqual([]);
  await user.click(dialog.getByRole("button", { name: "Make administrator" }));
  await user.click(await screen.findByRole("button", { name: "Make ordinary: bob" }));
  await user.click(within(await screen.findByRole("dialog", { name: "Make bob an ordinary user?" })).getByRole("button", { name: "Make ordinary" }));
  await expect.poll(() => sent).toEqual([{ is_staff: true }, { is_staff: false }]);
  await user.click(await screen.findByRole("button", { name: "Sign out: bob" }));
  expect(nEnded).toBe(0);
  await user.click(within(await screen.findByRole("dialog", { name: "Sign bob out of all browsers?" })).getByRole("button", { name: "Sign out" }));
  expect(await screen.findByRole("button", { name: "Signed out of 2: bob" })).toBeVisible();
});

it("leads others to the members of their organisations, and asks the API for nothing", async () => {
  server.use(answers("/api/v1/auth/me", me()));
  renderPage("/users");
  expect(await screen.findByText("This page is for administrators")).toBeVisible();
  expect(within(screen.getByRole("main")).getByRole("link", { name: "Members" })).toHaveAttribute("href", "/members");
  expect(screen.queryByRole("button", { name: "Create user" })).not.toBeInTheDocument();
});

it("enters the e-mail address of an account that has none", async () => {
  const { sent, user } = shown();
  await user.click(await screen.findByRole("button", { name: "More for bob" }));
  await user.click(screen.getByRole("button", { name: "Change e-mail: bob" }));
  const dialog = await screen.findByRole("dialog", { name: "E-mail address of bob" });
  await user.type(within(dialog).getByLabelText("E-mail"), "bob@example.org");
  await user.click(within(dialog).getByRole("button", { name: "Save" }));
  expect(await screen.findByText("bob@example.org")).toBeVisible();
  expect(sent).toEqual([{ email: "bob@example.org" }]);
});
