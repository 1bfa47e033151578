// SPDX-License-Identifier: Apache-2.0
// The list of environments: what uses them, why one failed, and its log at a link that can be sent.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Environment } from "@/api/types";
import { ACME, me, model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const FAILED: Environment = {
  id: "00000000-0000-7000-8000-0000000000f1",
  organisation: ACME,
  state: "failed",
  origin: "requirements.txt",
  requirements: ["absent==9"],
  packages: [],
  python: "3.11.7",
  platform: "linux-x86_64",
  size_bytes: 0,
  error: { code: "package_not_found", message: "absent was not found.", remedy: "Correct its name." },
  n_versions: 7,
  used_by: [{ id: "00000000-0000-7000-8000-0000000000e2", number: 3, model: { id: model().id, name: "Counter" } }],
  created_at: "2026-03-02T09:00:00Z",
  started_at: null,
  finished_at: null,
};

it("lists environments with what uses them, and shows the log of one that its address names", async () => {
  server.use(
    answers("/api/v1/environments", page([FAILED])),
    answers("/api/v1/environments/{id}", FAILED),
    answers("/api/v1/environments/{id}/log", { log: "No solution found" }),
  );
  const { user, router } = renderPage("/environments");
  const row = (await screen.findByRole("link", { name: "Counter v3" })).closest("tr") as HTMLElement;
  expect(row).toHaveTextContent("and 6 more");
  await user.click(within(row).getByRole("button", { name: "Show" }));
  const packages = await screen.findByRole("region", { name: "Packages" });
  expect(await within(packages).findByText("No solution found")).toBeInTheDocument();
  expect(within(packages).getByRole("alert")).toHaveTextContent("Correct its name.");
  expect(router.state.location.search).toBe(`?environment=${FAILED.id}`);
});

it("stops a build after a question", async () => {
  const building: Environment = { ...FAILED, state: "building", error: null, n_versions: 0, used_by: [] };
  let current = building;
  server.use(
    answers("/api/v1/environments", () => page([current])),
    http.post("/api/v1/environments/:id/stop", () => {
      current = { ...FAILED, error: { code: "stopped", message: "The build of its packages was stopped by ada.", remedy: "" } };
      return HttpResponse.json(current);
    }),
  );
  const { user } = renderPage("/environments");
  await user.click(await screen.findByRole("button", { name: "Stop the build of requirements.txt" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Stop the build" }));
  expect(await screen.findByRole("button", { name: "Build requirements.txt again" })).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: /Stop the build/ })).not.toBeInTheDocument();
});

it("deletes an environment after a question, and names the code that still requires it", async () => {
  let isUsed = true;
  let isDeleted = false;
  server.use(
    answers("/api/v1/environments", () => page(isDeleted ? [] : [FAILED])),
    http.delete("/api/v1/environments/:id", () => {
      if (isUsed) {
        return problem(409, { title: "Conflict", detail: "Versions of code that require this environment: 1, the newest Counter v3. Their jobs: 2.", code: "in_use" });
      }
      isDeleted = true;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/environments");
  await user.click(await screen.findByRole("button", { name: "Delete the environment of requirements.txt" }));
  const dialog = await screen.findByRole("dialog");
  await user.click(within(dialog).getByRole("button", { name: "Delete" }));
  expect(await within(dialog).findByText(/the newest Counter v3/)).toBeInTheDocument();
  isUsed = false;
  await user.click(within(dialog).getByRole("button", { name: "Delete" }));
  expect(await screen.findByText("No environments")).toBeInTheDocument();
});

it("offers viewers no button that they may not use", async () => {
  server.use(
    answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role: "viewer" }] })),
    answers("/api/v1/environments", page([FAILED])),
  );
  renderPage("/environments");
  await screen.findByRole("link", { name: "Counter v3" });
  expect(screen.queryByRole("button", { name: /Delete|again/ })).not.toBeInTheDocument();
});

it("says how an environment comes to be when there is none", async () => {
  server.use(answers("/api/v1/environments", page<Environment>([])));
  renderPage("/environments");
  expect(await screen.findByRole("link", { name: "Upload code" })).toHaveAttribute("href", "/models");
});
