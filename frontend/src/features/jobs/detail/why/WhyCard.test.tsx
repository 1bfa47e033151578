// SPDX-License-Identifier: Apache-2.0
// What a job lacks, who is ahead, and actions that are applied after a confirmation.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Analysis } from "@/api/types";
import { AT, job, jobDetail, me } from "@/testing/fixtures";
import { advisedAction, analysis, why } from "@/testing/schedulingFixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ID = job().id;
const OTHER = "00000000-0000-7000-8000-0000000000f2";

async function shown(found: Analysis, over: Parameters<typeof jobDetail>[0] = {}) {
  server.use(
    answers("/api/v1/jobs/{id}", jobDetail({ state: "queued", ...over })),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "20" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs/{id}/why", why({ analysis: found, note: "" })),
  );
  const { user } = renderPage(`/jobs/${ID}/why`);
  return { user, card: await screen.findByRole("region", { name: /^What (it waits for|would make it faster)$/ }) };
}

const GPUS = {
  kind: "free_gpus" as const,
  need: 4,
  have: 1,
  total: 8,
  is_blocking: true,
  tenant: "",
  gpu_types: ["v100"],
  guarantee: null,
  sentence: "Free GPUs of type v100: 1 of 8; it needs 4.",
};

it("shows need against have, who is ahead and why, and without a name what belongs to others", async () => {
  const explanation = { reason: "submitted_earlier", sentence: "first was submitted 60 s earlier.", facts: {} };
  const ahead = { id: OTHER, name: "first", n_workers: 2, explanation, predicted_start_at: null };
  const { card } = await shown(
    analysis({
      blockers: [GPUS, { ...GPUS, kind: "quota_gpus", need: 2, have: 3, is_blocking: false, tenant: "Acme" }],
      ahead: { n_jobs: 3, n_others: 2, jobs: [ahead] },
      awaited: { id: null, name: null, finish_at: "2026-03-02T10:00:00Z" },
    }),
  );
  const bars = within(await within(card).findByRole("list", { name: "Need against have" })).getAllByRole("listitem");
  expect(bars[0]).toHaveTextContent("Free GPUs3 missingFree GPUs of type v100: 1 of 8; it needs 4.");
  expect(bars[1]).toHaveTextContent("GPUs of the quota · Acmeenough");
  expect(within(card).getByRole("list", { name: "Jobs ahead" })).toHaveTextContent("first (2 GPUs): first was submitted 60 s earlier.");
  expect(card).toHaveTextContent("2 jobs of other organisations ahead of it.");
  expect(card).toHaveTextContent("It starts when a job of another organisation ends");
  expect(card).toHaveTextContent("No change that was tried starts it noticeably earlier.");
});

it("says of predictions whose time has come that they are late, not that they are past", async () => {
  const explanation = { reason: "submitted_earlier", sentence: "first was submitted 60 s earlier.", facts: {} };
  const { card } = await shown(
    analysis({
      ahead: { n_jobs: 1, n_others: 0, jobs: [{ id: OTHER, name: "first", n_workers: 1, explanation, predicted_start_at: AT }] },
      awaited: { id: null, name: null, finish_at: AT },
      actions: [advisedAction({ starts_now: false, start_at: AT })],
    }),
  );
  expect(await within(card).findByText(/It starts in the next round, 10 min 00 s earlier/)).toBeVisible();
  expect(within(card).getByRole("list", { name: "Jobs ahead" })).toHaveTextContent("first (1 GPU): first was");
  expect(card).toHaveTextContent(/ends: predicted .* \(overdue by \d+ d\)\./);
});

it("leads to where more is asked for when a quota is what it lacks", async () => {
  const lacking = { ...GPUS, kind: "quota_gpus" as const, need: 4, have: 1, is_blocking: true, tenant: "Acme" };
  const { card } = await shown(analysis({ blockers: [GPUS, lacking] }));
  const links = await within(card).findAllByRole("link", { name: "Ask for more" });
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["/quotas"]);
});

it("applies an action after a confirmation that says what it gains and costs", async () => {
  let sent: unknown;
  server.use(
    http.patch(`/api/v1/jobs/${ID}`, async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json(job());
    }),
  );
  const { user, card } = await shown(analysis({ actions: [advisedAction({ n_delayed: 2, n_delayed_others: 1, delayed_s: 90 })] }));
  await user.click(await within(card).findByRole("button", { name: "Apply: Start with 1 GPU instead of 2." }));
  expect(sent).toBeUndefined();
  const dialog = await screen.findByRole("dialog", { name: "Start with 1 GPU instead of 2." });
  expect(dialog).toHaveTextContent("It starts in the next round, 10 min 00 s earlier");
  expect(dialog).toHaveTextContent("2 other jobs, 1 of other organisations would end later: 1 min 30 s in sum.");
  await user.click(within(dialog).getByRole("button", { name: "Apply" }));
  await expect.poll(() => sent).toEqual({ min_workers: 1 });
});

it("pauses the other job that stands in the way", async () => {
  let paused = "";
  server.use(
    http.post("/api/v1/jobs/:id/pause", ({ params }) => {
      paused = String(params["id"]);
      return HttpResponse.json(job());
    }),
  );
  const pause = advisedAction({ kind: "pause_job", sentence: "Pause second.", job: OTHER, changes: {} });
  const { user, card } = await shown(analysis({ actions: [pause] }));
  await user.click(await within(card).findByRole("button", { name: "Apply: Pause second." }));
  await user.click(within(await screen.findByRole("dialog", { name: "Pause second." })).getByRole("button", { name: "Apply" }));
  await expect.poll(() => paused).toBe(OTHER);
});

it("names an administrator's actions without a button, and offers viewers none", async () => {
  const organisation = job().project.organisation;
  server.use(
    answers("/api/v1/auth/me", me({ id: "u", username: "vera", is_staff: false, memberships: [{ id: "m", organisation, role: "viewer" }] })),
  );
  const larger = advisedAction({ kind: "larger_quota", by: "administrator", job: null, tenant: "Acme", changes: { max_gpus: 8 } });
  const { card } = await shown(analysis({ actions: [{ ...larger, sentence: "Raise the quota of Acme to 8 GPUs." }, advisedAction()] }));
  expect(await within(card).findByText("An administrator may do this")).toBeVisible();
  expect(within(card).queryByRole("button", { name: /Apply/ })).not.toBeInTheDocument();
});

it("says of a running job what would end it earlier", async () => {
  const more = advisedAction({ kind: "more_workers", sentence: "Allow up to 8 GPUs.", changes: { max_workers: 8 } });
  const { card } = await shown(analysis({ blockers: [GPUS], actions: [more] }), { state: "running" });
  expect(await within(card).findByText(/^It ends 10 min 00 s earlier: predicted finish/)).toBeVisible();
  expect(within(card).queryByRole("list", { name: "Need against have" })).not.toBeInTheDocument();
});
