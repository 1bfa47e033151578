// SPDX-License-Identifier: Apache-2.0
// A project's secrets: set without being shown, refused by field, deleted after asking; only members set them.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Secret } from "@/api/types";
import { me, organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const AT = "2026-11-22T10:00:00Z";
const address = `/projects/${project().id}/secrets`;
const secret = (name: string): Secret => ({ name, set_by: null, created_at: AT, updated_at: AT });

function shown() {
  let rows: Secret[] = [secret("OLD")];
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/projects", page([project()])),
    answers("/api/v1/projects/{id}/secrets", () => page(rows)),
    http.put("/api/v1/projects/:id/secrets/:name", async ({ params, request }) => {
      const name = String(params.name);
      if (name === "1X") {
        const errors = [{ field: "name", message: "'1X' is no name of an environment variable.", remedy: "Use letters." }];
        return problem(422, { code: "invalid", detail: "It is no name.", errors });
      }
      sent.push([name, await request.json()]);
      rows = [...rows, secret(name)];
      return HttpResponse.json(secret(name));
    }),
    http.delete("/api/v1/projects/:id/secrets/:name", ({ params }) => {
      rows = rows.filter(({ name }) => name !== params.name);
      return new HttpResponse(null, { status: 204 });
    }),
  );
  return { sent, user: renderPage(address).user };
}

it("sets a secret, of which the page then shows the name alone", async () => {
  const { sent, user } = shown();
  await user.type(await screen.findByLabelText("Name"), "HF_TOKEN");
  await user.type(screen.getByLabelText("Value"), "hf_123");
  await user.click(screen.getByRole("button", { name: "Set the secret" }));
  expect(await screen.findByRole("cell", { name: "HF_TOKEN" })).toBeVisible();
  expect(sent).toEqual([["HF_TOKEN", { value: "hf_123" }]]);
  expect(screen.getByLabelText("Value")).toHaveValue("");
});

it("says at the name what is wrong with it", async () => {
  const { user } = shown();
  await user.type(await screen.findByLabelText("Name"), "1X");
  await user.type(screen.getByLabelText("Value"), "x");
  await user.click(screen.getByRole("button", { name: "Set the secret" }));
  expect(await screen.findByText(/no name of an environment variable/)).toBeVisible();
  expect(screen.getByLabelText("Value")).toHaveValue("x");
});

it("deletes a secret after asking", async () => {
  const { user } = shown();
  await user.click(await screen.findByRole("button", { name: "Delete OLD" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/start without it/)).toBeVisible();
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  expect(await screen.findByText("No secrets yet")).toBeVisible();
});

it("only lists names for those who may look", async () => {
  server.use(
    answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: organisation(), role: "viewer" }] })),
    answers("/api/v1/projects", page([project()])),
    answers("/api/v1/projects/{id}/secrets", page([secret("OLD")])),
  );
  renderPage(address);
  expect(await screen.findByRole("cell", { name: "OLD" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Set the secret" })).not.toBeInTheDocument();
});
