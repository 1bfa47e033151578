// SPDX-License-Identifier: Apache-2.0
// Tags and notes on a job's page: members write them, viewers read them.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { ACME, job, jobDetail, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ADDRESS = `/jobs/${job().id}`;

function shown() {
  const detail = jobDetail({ state: "succeeded", tags: ["paper"], notes: "Best so far." });
  server.use(answers("/api/v1/jobs/{id}", detail), answers("/api/v1/jobs/{id}/events", page([])));
  return renderPage(ADDRESS);
}

it("saves tags and notes together", async () => {
  const sent: unknown[] = [];
  const { user } = shown();
  server.use(
    http.patch("/api/v1/jobs/:id", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(job());
    }),
  );
  const notes = await screen.findByRole("textbox", { name: "Notes" });
  expect(screen.getByRole("button", { name: "Save tags and notes" })).toBeDisabled();
  await user.type(notes, " See the paper.");
  await user.type(screen.getByLabelText("Tags", { selector: "input" }), "baseline{Enter}");
  await user.click(screen.getByRole("button", { name: "Save tags and notes" }));
  await expect.poll(() => sent).toEqual([{ tags: ["paper", "baseline"], notes: "Best so far. See the paper." }]);
});

it("lets viewers read only", async () => {
  server.use(answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role: "viewer" }] })));
  shown();
  expect(await screen.findByText("Best so far.")).toBeVisible();
  expect(screen.getByText("Tags: paper")).toBeVisible();
  expect(screen.queryByRole("textbox", { name: "Notes" })).not.toBeInTheDocument();
});
