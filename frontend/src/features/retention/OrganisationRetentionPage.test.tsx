// SPDX-License-Identifier: Apache-2.0
// Bounds of an organisation: what they make of the projects' rules, what others would remove, and what is refused.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { OrganisationRetention, RetentionBound } from "@/api/types";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

const PATH = "/api/v1/organisations/:id/retention";
const VISION = { id: "p1", name: "vision" };
const BOUND: RetentionBound = { owner: "organisation", side: "at_most", days: 30 };

function bounds(over: Partial<OrganisationRetention> = {}): OrganisationRetention {
  const nothing = { least_days: null, most_days: null, default_days: null, installation_days: 90, installation_bounds: [] };
  return {
    ...{ version: 2, may_edit: true },
    kinds: [
      { ...nothing, kind: "logs", most_days: 30 },
      { ...nothing, kind: "metrics" },
    ],
    clamped: [{ project: VISION, kind: "logs", days: 30, chosen_days: 60, rule_of: "project", clamped_by: BOUND }],
    ...over,
  };
}

it("says what a bound would remove of each project before it is saved", async () => {
  const sent: unknown[] = [];
  const effect = { kind: "logs" as const, days_before: 30, days_after: 7, clamped_by: BOUND };
  server.use(
    answers(PATH, bounds()),
    http.post(`${PATH}/preview`, async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json([{ project: VISION, ...effect, n_items: 1200, n_jobs: 3, n_bytes: 2 ** 20 }]);
    }),
    http.patch(PATH, async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(bounds({ version: 3 }));
    }),
  );
  const { user } = renderPage("/organisations/o1/retention");
  const most = await screen.findByLabelText("At most, days of Logs");
  await user.clear(most);
  await user.type(most, "7");
  await user.click(screen.getByRole("button", { name: "What would be removed?" }));
  expect(await screen.findByText(/vision, Logs: 7 days in place of 30 days/)).toHaveTextContent("1,200 of 3 jobs would go, 1 MiB");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await expect.poll(() => sent).toEqual([{ logs: { most_days: 7 } }, { logs: { most_days: 7 }, version: 2 }]);
});

it("shows the rules that are bounded, and a refusal at its field", async () => {
  const field = { field: "logs.default_days", code: "invalid_input", message: "logs would be kept for 50 days." };
  server.use(
    answers(PATH, bounds()),
    http.patch(PATH, () => problem(422, { code: "invalid_input", detail: "logs would be kept for 50 days.", errors: [field] })),
  );
  const { user } = renderPage("/organisations/o1/retention");
  const bounded = within(await screen.findByRole("region", { name: "Bounded rules" }));
  expect(bounded.getByRole("link", { name: "vision" })).toHaveAttribute("href", "/projects/p1/retention");
  expect(bounded.getByText("60 days")).toBeVisible();
  await user.type(screen.getByLabelText("By default, days of Logs"), "50");
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByLabelText("By default, days of Logs")).toBeInvalid();
});

it("shows members the bounds, and no fields", async () => {
  server.use(answers(PATH, bounds({ may_edit: false, clamped: [] })));
  renderPage("/organisations/o1/retention");
  expect(await screen.findByText("30 days")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Save" })).not.toBeInTheDocument();
});
