// SPDX-License-Identifier: Apache-2.0
// A person who lacks a role sees which one is needed and who can give it; others see nothing.
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Dataset, PersonRoles, Role } from "@/api/types";
import { ACME, dataset, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

function person(username: string, role: Role): PersonRoles {
  return { user: { id: username, username }, is_service_account: false, role, assignments: [] };
}

const PEOPLE = [person("olga", "owner"), person("alice", "admin"), person("bob", "member")];

function datasetPage(role: Role, over: Partial<Dataset> = { latest_version: null }) {
  server.use(
    answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role }] })),
    answers("/api/v1/projects/{id}/roles", page(PEOPLE)),
    answers("/api/v1/datasets/{id}", dataset(over)),
    answers("/api/v1/datasets/{id}/versions", page([])),
  );
  return renderPage(`/datasets/${dataset().id}`);
}

it("names the role that a viewer lacks, and the admins and owners who can give it", async () => {
  datasetPage("viewer");
  const who = "Ask olga (owner), alice (admin) for it.";
  expect(await screen.findByText(`Training needs the role submitter in Acme / Vision; yours is viewer. ${who}`)).toBeVisible();
  expect(screen.getByText(`Uploading versions needs the role member in Acme / Vision; yours is viewer. ${who}`)).toBeVisible();
});

it("lets a submitter train on the versions that are there, and upload none", async () => {
  datasetPage("submitter", { latest_version: { id: "v", number: 1, state: "ready", options: {} } as Dataset["latest_version"] });
  expect(await screen.findByRole("link", { name: "Train on it" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Upload a new version" })).not.toBeInTheDocument();
  expect(screen.queryByText(/Training needs/)).not.toBeInTheDocument();
  expect(await screen.findByText(/Uploading versions needs the role member .* yours is submitter/)).toBeVisible();
});

it("shows nothing to those who have the role", async () => {
  datasetPage("member");
  expect(await screen.findByRole("heading", { level: 1, name: "Digits" })).toBeVisible();
  expect(screen.queryByRole("note")).not.toBeInTheDocument();
});
