// SPDX-License-Identifier: Apache-2.0
// Deleting an archived organisation: what goes, what forbids it, the name and the password, and the progress to its end.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { OrganisationContents, OrganisationDeletion } from "@/api/types";
import { organisation } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const AT = "2026-11-26T10:00:00Z";
const ACME = organisation({ role: "owner", archived_at: AT });
const CONTENTS: OrganisationContents = {
  counts: { projects: 2, jobs: 1200, studies: 0 },
  n_bytes: 4096,
  shared_bytes: 1024,
  refusals: [],
  deletion: null,
};
const DELETION: OrganisationDeletion = {
  id: "00000000-0000-7000-8000-0000000000e1", organisation_id: ACME.id, name: ACME.name, requested_at: AT, counts: {}, n_total: 1300,
  n_removed: 300, step: "jobs", problem: "", bytes_removed: 3072, shared_blobs: 1, later_blobs: 0, n_machines_left: 0, machines_left: [], ended_at: null,
};

let listed = [ACME];

function serve(contents: OrganisationContents) {
  listed = [ACME];
  server.use(
    answers("/api/v1/organisations", () => page(listed)),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    answers("/api/v1/organisations/{id}/deletion", contents),
  );
}

it("counts what goes, asks for name and password, and shows the progress to the end", async () => {
  serve(CONTENTS);
  const sent: unknown[] = [];
  let isOver = false;
  server.use(
    http.post("/api/v1/organisations/:id/deletion", async ({ request }) => {
      sent.push(await request.json());
      listed = []; // the page has nothing to show of it any more, and the end is shown all the same
      return HttpResponse.json(DELETION, { status: 202 });
    }),
    http.get("/api/v1/organisation-deletions/:id", () => {
      const now = isOver ? { ...DELETION, ended_at: AT } : DELETION;
      isOver = true;
      return HttpResponse.json(now);
    }),
  );
  const { user, queries } = renderPage("/members");
  await user.click(await screen.findByRole("button", { name: "Delete with all its data" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(await dialog.findByRole("row", { name: /Jobs 1,200/ })).toBeVisible();
  expect(dialog.queryByRole("row", { name: /Studies/ })).not.toBeInTheDocument();
  expect(dialog.getByText(/1.*kB of it stay|1.*KiB of it stay/)).toBeVisible();
  await user.type(dialog.getByLabelText(/to confirm/), ACME.name);
  await user.type(dialog.getByLabelText(/^Your password/), "right");
  await user.click(dialog.getByRole("button", { name: "Delete it for good" }));
  expect(await dialog.findByText(/300 of 1,300 things are deleted/)).toBeVisible();
  expect(sent).toEqual([{ name: ACME.name, password: "right", code: "" }]);
  await queries.invalidateQueries(); // as the event of the end does
  await expect.poll(() => screen.queryByRole("heading", { name: ACME.name, hidden: true })).toBeNull();
  expect(await dialog.findByText(/is deleted: 1,300 things/, undefined, { timeout: 10_000 })).toBeVisible();
}, 20_000);

it("says what forbids it, with the remedy", async () => {
  serve({ ...CONTENTS, refusals: [{ code: "jobs_live", message: "3 jobs have not ended.", remedy: "Cancel them." }] });
  const { user } = renderPage("/members");
  await user.click(await screen.findByRole("button", { name: "Delete with all its data" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(await dialog.findByText("3 jobs have not ended. Cancel them.")).toBeVisible();
  expect(dialog.queryByRole("button", { name: "Delete it for good" })).not.toBeInTheDocument();
});
