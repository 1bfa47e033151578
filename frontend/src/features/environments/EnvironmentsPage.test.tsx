// SPDX-License-Identifier: Apache-2.0
// The list of environments: what uses them, why one failed, and its log at a link that can be sent.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Environment } from "@/api/types";
import { model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const FAILED: Environment = {
  id: "00000000-0000-7000-8000-0000000000f1",
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

it("says how an environment comes to be when there is none", async () => {
  server.use(answers("/api/v1/environments", page<Environment>([])));
  renderPage("/environments");
  expect(await screen.findByRole("link", { name: "Upload code" })).toHaveAttribute("href", "/models");
});
