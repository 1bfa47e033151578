// SPDX-License-Identifier: Apache-2.0
// Rules of retention: what is kept and stored, what other days would remove, and two admins at once.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Retention } from "@/api/types";
import { project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

const PATH = "/api/v1/projects/:id/retention";
const NOTHING = { n_items: 0, n_jobs: 0, n_bytes: 0 };

function rules(over: Partial<Retention> = {}): Retention {
  const usual = {
    ...{ is_own: false, installation_days: null, default_days: null, days: null, chosen_days: null },
    ...{ rule_of: "installation" as const, default_of: "installation" as const, clamped_by: null, bounds: [], stored: NOTHING, due: NOTHING },
  };
  const own = { is_own: true, rule_of: "project" as const, days: 14, chosen_days: 14 };
  return {
    ...{ version: 4, may_edit: true, organisation: { id: "o1", name: "A" } },
    kinds: [
      { ...usual, kind: "logs", days: 90, chosen_days: 90, default_days: 90, installation_days: 90 },
      { ...usual, ...own, kind: "checkpoints", stored: { n_items: 312, n_jobs: 41, n_bytes: 18 * 2 ** 30 } },
    ],
    ...over,
  };
}

it("says what other days would remove before they are saved, and saves them in the version on screen", async () => {
  const sent: unknown[] = [];
  server.use(
    answers(PATH, rules()),
    http.post(`${PATH}/preview`, async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json([{ kind: "checkpoints", n_items: 312, n_jobs: 41, n_bytes: 18 * 2 ** 30 }]);
    }),
    http.patch(PATH, async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(rules({ version: 5 }));
    }),
  );
  const { user } = renderPage(`/projects/${project().id}/retention`);
  expect(await screen.findByText("18 GiB of 41 jobs")).toBeVisible();
  expect(screen.getByText("90 days")).toHaveTextContent("(as the installation)");
  await user.clear(screen.getByLabelText("Days of Checkpoints"));
  await user.type(screen.getByLabelText("Days of Checkpoints"), "2");
  await user.click(screen.getByRole("button", { name: "What would be removed?" }));
  expect(await screen.findByText("Checkpoints: 312 of 41 jobs, 18 GiB")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Save" }));
  await expect.poll(() => sent).toEqual([{ checkpoints: 2 }, { checkpoints: 2, version: 4 }]);
});

it("shows both versions when another admin was first", async () => {
  const versions: unknown[] = [];
  server.use(
    answers(PATH, rules()),
    http.patch(PATH, async ({ request }) => {
      const { version } = (await request.json()) as { version: number };
      versions.push(version);
      if (version === 7) return HttpResponse.json(rules({ version: 8 }));
      const both = { present: { logs: null }, yours: { logs: 5 }, version: 7 };
      return problem(409, { code: "stale_version", detail: "Another admin changed these rules meanwhile.", ...both });
    }),
  );
  const { user } = renderPage(`/projects/${project().id}/retention`);
  await user.type(await screen.findByLabelText("Days of Logs"), "5");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const conflict = within(await screen.findByRole("alert"));
  expect(conflict.getByText("by default")).toBeVisible();
  await user.click(conflict.getByRole("button", { name: "Save mine over them" }));
  await expect.poll(() => versions).toEqual([4, 7]);
});

it("shows members the rules, and no fields", async () => {
  server.use(answers(PATH, rules({ may_edit: false })));
  renderPage(`/projects/${project().id}/retention`);
  expect(await screen.findByText("90 days")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Save" })).not.toBeInTheDocument();
  expect(screen.queryByLabelText("Days of Logs")).not.toBeInTheDocument();
});

it("says which bound made other days of a rule, and whose it is", async () => {
  const bound = { owner: "organisation" as const, side: "at_most" as const, days: 30 };
  const clamped = { is_own: true, rule_of: "project" as const, days: 30, chosen_days: 60, clamped_by: bound, bounds: [bound] };
  const byDefault = { rule_of: "organisation" as const, is_own: false };
  const kinds = rules().kinds.map((row) => ({ ...row, ...(row.kind === "logs" ? clamped : byDefault) }));
  server.use(answers(PATH, rules({ kinds })));
  renderPage(`/projects/${project().id}/retention`);
  expect(await screen.findByText("60 days by the rule; A: at most 30 days")).toBeVisible();
  expect(screen.getByLabelText("Days of Logs")).toHaveValue("60");
  expect(screen.getByText("14 days")).toHaveTextContent("(as A has it)");
  expect(screen.getByRole("link", { name: "Bounds of A for all its projects" })).toHaveAttribute("href", "/organisations/o1/retention");
});

it("says what is past its days and being removed, until it is gone", async () => {
  const due = { n_items: 300, n_jobs: 40, n_bytes: 17 * 2 ** 30 };
  const left = { due: NOTHING, stored: { n_items: 12, n_jobs: 1, n_bytes: 2 ** 30 } };
  let isGone = false;
  const kinds = () => rules().kinds.map((one) => (one.kind === "checkpoints" ? { ...one, ...(isGone ? left : { due }) } : one));
  server.use(answers(PATH, () => rules({ kinds: kinds() })));
  renderPage(`/projects/${project().id}/retention`);
  expect(await screen.findByText("17 GiB of 40 jobs past its days: being removed")).toBeVisible();
  isGone = true;
  expect(await screen.findByText("1 GiB of 1 job", undefined, { timeout: 20_000 })).toBeVisible();
  expect(screen.queryByText(/being removed/)).not.toBeInTheDocument();
});
