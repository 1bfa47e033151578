// SPDX-License-Identifier: Apache-2.0
// Passkeys: listed, renamed, removed with the owner's proof, and why there can be none at this address.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Passkey } from "@/api/types";
import { AT, signInMethods } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ID = "00000000-0000-7000-8000-000000000001";

it("renames and removes a passkey, and says where others can be added", async () => {
  let passkeys: Passkey[] = [{ id: ID, name: "phone", is_synced: true, created_at: AT, last_used_at: null }];
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/methods", signInMethods({ passkey_origin: "http://localhost:8000" })),
    answers("/api/v1/auth/sessions", page([])),
    answers("/api/v1/auth/notices", { topics: [], email: "", has_mail_server: false }),
    answers("/api/v1/auth/passkeys", () => page(passkeys)),
    http.patch(`/api/v1/auth/passkeys/${ID}`, async ({ request }) => {
      passkeys = passkeys.map((passkey) => ({ ...passkey, name: "old phone" }));
      sent.push(await request.json());
      return HttpResponse.json(passkeys[0]);
    }),
    http.post(`/api/v1/auth/passkeys/${ID}/remove`, async ({ request }) => {
      passkeys = [];
      sent.push(await request.json());
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/account");
  const link = await screen.findByRole("link", { name: "http://localhost:8000/account" });
  expect(link).toHaveAttribute("href", "http://localhost:8000/account");
  expect(screen.queryByRole("button", { name: "Add a passkey" })).not.toBeInTheDocument();

  await user.click(await screen.findByRole("button", { name: "Rename phone" }));
  const rename = within(await screen.findByRole("dialog"));
  await user.clear(rename.getByLabelText(/^Name/));
  await user.type(rename.getByLabelText(/^Name/), "old phone");
  await user.click(rename.getByRole("button", { name: "Rename" }));

  await user.click(await screen.findByRole("button", { name: "Remove old phone" }));
  const remove = within(await screen.findByRole("form", { name: "Remove the passkey" }));
  await user.type(remove.getByLabelText(/^Your password/), "right");
  await user.type(remove.getByLabelText(/^Recovery code/), "aaaaa");
  await user.click(remove.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(screen.queryByText("old phone")).not.toBeInTheDocument());
  expect(sent).toEqual([{ name: "old phone" }, { password: "right", code: "aaaaa" }]);
});
