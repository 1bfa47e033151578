// SPDX-License-Identifier: Apache-2.0
// A person who lacks a role sees which one is needed and who can give it; others see nothing.
import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Membership, Role } from "@/api/types";
import { ACME, dataset, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const PEOPLE: Membership[] = [
  { id: "m1", user: { id: "u1", username: "olga" }, role: "owner" },
  { id: "m2", user: { id: "u2", username: "alice" }, role: "admin" },
  { id: "m3", user: { id: "u3", username: "bob" }, role: "member" },
];

function datasetPage(role: Role) {
  server.use(
    answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role }] })),
    answers("/api/v1/organisations/{id}/members", page(PEOPLE)),
    answers("/api/v1/datasets/{id}", dataset({ latest_version: null })),
    answers("/api/v1/datasets/{id}/versions", page([])),
  );
  return renderPage(`/datasets/${dataset().id}`);
}

it("names the role that a viewer lacks, and the admins and owners who can give it", async () => {
  datasetPage("viewer");
  expect(await screen.findByText(/Ask olga \(owner\), alice \(admin\) for it\./)).toHaveTextContent(
    "Uploading versions and training needs the role member in Acme; yours is viewer.",
  );
});

it("shows nothing to those who have the role", async () => {
  datasetPage("member");
  expect(await screen.findByRole("heading", { level: 1, name: "Digits" })).toBeVisible();
  expect(screen.queryByRole("note")).not.toBeInTheDocument();
});
