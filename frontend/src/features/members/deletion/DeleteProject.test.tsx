// SPDX-License-Identifier: Apache-2.0
// Deleting a project: what goes, what forbids it, its name, the progress to its end; an empty one goes at once.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { ProjectContents, ProjectDeletion } from "@/api/types";
import { organisation, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const AT = "2026-11-26T10:00:00Z";
const { id, name: NAME } = project();
const CONTENTS: ProjectContents = {
  counts: { jobs: 1200, datasets: 2, studies: 0 },
  n_bytes: 4096,
  checkpoint_bytes: 8192,
  shared_bytes: 1024,
  refusals: [],
  deletion: null,
};
const DELETION: ProjectDeletion = {
  id: "00000000-0000-7000-8000-0000000000e2", organisation_id: organisation().id, project_id: id, name: NAME, requested_at: AT, counts: {},
  n_total: 1300, n_removed: 300, step: "jobs", problem: "", bytes_removed: 3072, shared_blobs: 1, later_blobs: 0, n_machines_left: 0, machines_left: [], ended_at: null,
};

let listed = [project()];

async function opened(contents: ProjectContents) {
  listed = [project()];
  server.use(
    answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
    answers("/api/v1/organisations/{id}/members", page([])),
    answers("/api/v1/organisations/{id}/invitations", page([])),
    answers("/api/v1/projects", () => page(listed)),
    answers("/api/v1/projects/{id}/deletion", contents),
  );
  const { user, queries } = renderPage("/members");
  await user.click(await screen.findByRole("button", { name: `Delete ${NAME}` }));
  return { user, queries, dialog: within(await screen.findByRole("dialog")) };
}

it("counts what goes with a project, asks for its name, and shows the progress to the end", async () => {
  const { user, queries, dialog } = await opened(CONTENTS);
  const sent: unknown[] = [];
  let isOver = false;
  server.use(
    http.post("/api/v1/projects/:id/deletion", async ({ request }) => {
      sent.push(await request.json());
      listed = sent.length === 1 ? listed : []; // its row goes, and the end is shown all the same
      return sent.length === 1
        ? problem(422, { code: "invalid", detail: "This is not the project's name.", errors: [{ field: "name", message: "This is not the project's name." }] })
        : HttpResponse.json(DELETION, { status: 202 });
    }),
    http.get("/api/v1/project-deletions/:id", () => {
      const now = isOver ? { ...DELETION, ended_at: AT, n_machines_left: 22, machines_left: ["lab-1", "lab-2"] } : DELETION;
      isOver = true;
      return HttpResponse.json(now);
    }),
  );
  expect(await dialog.findByRole("row", { name: /Jobs 1,200/ })).toBeVisible();
  expect(dialog.getByRole("row", { name: /Checkpoints 8/ })).toBeVisible();
  expect(dialog.queryByRole("row", { name: /Studies/ })).not.toBeInTheDocument();
  expect(dialog.getByText(/of it stay: other projects store/)).toBeVisible();
  const field = dialog.getByLabelText(/to confirm/);
  await user.type(field, "another");
  await user.click(dialog.getByRole("button", { name: "Delete it for good" }));
  expect((await dialog.findAllByText("This is not the project's name.")).length).toBeGreaterThan(0);
  await user.clear(field);
  await user.type(field, NAME);
  await user.click(dialog.getByRole("button", { name: "Delete it for good" }));
  expect(await dialog.findByText(/300 of 1,300 things are deleted/)).toBeVisible();
  expect(sent).toEqual([{ name: "another" }, { name: NAME }]);
  void queries.invalidateQueries(); // as the event of the end does
  await expect.poll(() => screen.queryByRole("row", { name: new RegExp(NAME) })).toBeNull();
  expect(await dialog.findByText(/is deleted: 1,300 things/, undefined, { timeout: 10_000 })).toBeVisible();
  expect(dialog.getByText(/^22 machines have not yet said .*: lab-1, lab-2, 20 more\./)).toBeVisible();
}, 60_000);

it("says what forbids it, with the remedy", async () => {
  const { dialog } = await opened({ ...CONTENTS, refusals: [{ code: "jobs_live", message: "3 jobs have not ended.", remedy: "Cancel them." }] });
  expect(await dialog.findByText("3 jobs have not ended. Cancel them.")).toBeVisible();
  expect(dialog.queryByRole("button", { name: "Delete it for good" })).not.toBeInTheDocument();
});

it("deletes an empty project without its name typed", async () => {
  const { user, dialog } = await opened({ ...CONTENTS, counts: { jobs: 0 }, n_bytes: 0, checkpoint_bytes: 0, shared_bytes: 0 });
  let isDeleted = false;
  server.use(
    http.delete("/api/v1/projects/:id", () => {
      isDeleted = true;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  await user.click(await dialog.findByRole("button", { name: "Delete" }));
  await expect.poll(() => isDeleted).toBe(true);
});
