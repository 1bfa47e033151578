// SPDX-License-Identifier: Apache-2.0
// Where there is no project yet, one is created in the form that needs it.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Dataset, Project } from "@/api/types";
import { project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("creates the first project by Enter, goes on with it, and leaves the focus at it", async () => {
  const created: unknown[] = [];
  server.use(
    answers("/api/v1/datasets", page<Dataset>([])),
    http.get("/api/v1/projects", () => HttpResponse.json(page<Project>(created.length === 0 ? [] : [project()]))),
    http.get("/api/v1/projects/:id", () => HttpResponse.json(project())),
    http.post("/api/v1/projects", async ({ request }) => {
      created.push(await request.json());
      return HttpResponse.json(project(), { status: 201 });
    }),
  );
  const { user } = renderPage("/datasets");
  await user.click((await screen.findAllByRole("button", { name: "Upload a dataset" }))[0] as HTMLElement);
  const form = within(await screen.findByRole("dialog"));
  const field = await form.findByRole("textbox", { name: "New project" });
  expect(form.getByRole("button", { name: "Create project" })).toBeDisabled();
  await user.type(field, "vision{Enter}");
  await expect.poll(() => created).toEqual([expect.objectContaining({ name: "vision" })]);
  const chosen = await form.findByRole("combobox", { name: "Project" });
  await expect.poll(() => document.activeElement).toBe(chosen);
});

