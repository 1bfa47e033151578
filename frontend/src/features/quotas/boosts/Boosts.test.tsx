// SPDX-License-Identifier: Apache-2.0
// Boosts on the page of quotas: who may change a quota raises it for some hours, now or later, and ends or cancels that.
import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { QuotaOwner } from "@/api/types";
import { localTime } from "@/lib/time";
import { FakeEventSource } from "@/testing/eventsource";
import { renderPage } from "@/testing/render";
import { quota, quotaOwner, whatIfAnswer } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";

const BOOST = {
  ...{ id: "00000000-0000-7000-8000-0000000000b1", extra_guarantee: 2, extra_max_gpus: 0 },
  ...{ extra_guarantee_by_type: {}, extra_gpus_by_type: {}, reason: "a deadline" },
  ...{ created_by: "alice", created_at: "2026-01-01T00:00:00Z", ends_at: "2999-01-01T00:00:00Z" },
  ...{ starts_at: "2026-01-01T00:00:00Z", is_in_effect: true },
};

function serve(owner: QuotaOwner, may_edit: boolean) {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/organisations/{id}/quota-tree", { may_edit, owners: [owner] }),
  );
}

it("adds GPUs for some hours, and names only limits that there are", async () => {
  const received: { extra_guarantee: number; ends_at: string; reason: string }[] = [];
  serve(quotaOwner(), true);
  server.use(
    http.post("/api/v1/projects/:id/quota/boosts", async ({ request }) => {
      received.push((await request.json()) as (typeof received)[number]);
      return HttpResponse.json(BOOST, { status: 201 });
    }),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Boost or reserve GPUs for Vision" }));
  expect(await screen.findByRole("button", { name: "Boost until then" })).toBeDisabled();
  expect(screen.queryByLabelText("More GPUs at most")).not.toBeInTheDocument();
  await user.type(await screen.findByLabelText("More guaranteed GPUs"), "2");
  await user.type(screen.getByLabelText("For hours"), "9999999999999");
  expect(Number(screen.getByLabelText<HTMLInputElement>("For hours").value)).toBeLessThanOrEqual(366 * 24);
  await user.type(screen.getByLabelText("Reason"), "a deadline");
  await user.click(screen.getByRole("button", { name: "Boost until then" }));
  expect(await screen.findByText("Vision is boosted.")).toBeVisible();
  expect(received).toMatchObject([{ extra_guarantee: 2, extra_max_gpus: 0, starts_at: null, reason: "a deadline" }]);
  expect(new Date(received[0]?.ends_at ?? 0).getTime()).toBeGreaterThan(Date.now() + 23 * 3_600_000);
});

it("adds GPUs of a type whose limit there is, and shows the raised limit", async () => {
  const received: Record<string, unknown>[] = [];
  serve(quotaOwner({ gpus_by_type: { A100: 2, T4: 4 }, boosts: [{ ...BOOST, extra_guarantee: 0, extra_gpus_by_type: { T4: 3 } }] }), true);
  server.use(
    http.post("/api/v1/projects/:id/quota/boosts", async ({ request }) => {
      received.push((await request.json()) as (typeof received)[number]);
      return problem(422, { code: "invalid_input", errors: [{ field: "extra_gpus_by_type", message: "Too many.", remedy: "" }] });
    }),
  );
  const { user } = renderPage("/quotas");
  expect(await screen.findByText(/Boost: \+3 T4 at most, ends/)).toBeVisible();
  expect(await screen.findByText(/0 of 7/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Boost or reserve GPUs for Vision" }));
  await user.type(await screen.findByLabelText("More A100 GPUs at most"), "2");
  await user.click(screen.getByRole("button", { name: "Boost until then" }));
  await waitFor(() => expect(received).toMatchObject([{ extra_guarantee: 0, extra_gpus_by_type: { A100: 2 } }]));
  expect(await screen.findAllByText(/Too many\./)).not.toHaveLength(0);
});

it("shows first what a boost of a type would do, says what of it cannot be read, and where it is refused", async () => {
  const asked: unknown[] = [];
  const received: Record<string, unknown>[] = [];
  serve(quotaOwner({ boosts: [{ ...BOOST, extra_guarantee_by_type: { T4: 3 } }] }), true);
  server.use(
    http.post("/api/v1/what-if", async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(whatIfAnswer({ overcommitted: [{ gpu_type: "A100", guaranteed: 9, gpus: 8 }] }));
    }),
    http.post("/api/v1/projects/:id/quota/boosts", async ({ request }) => {
      received.push((await request.json()) as (typeof received)[number]);
      const errors = [{ field: "extra_guarantee_by_type", message: "The cluster has no A100.", remedy: "" }];
      return problem(422, { code: "invalid_input", errors });
    }),
  );
  const { user } = renderPage("/quotas");
  expect(await screen.findByText(/Boost: \+2 guaranteed, \+3 T4 guaranteed, ends/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Boost or reserve GPUs for Vision" }));
  await user.type(await screen.findByLabelText("More guaranteed by type"), "A100");
  expect(screen.getByText("Give types with numbers, as in A100: 2, T4: 4")).toBeVisible();
  expect(screen.getByRole("button", { name: "What would happen?" })).toBeDisabled();
  await user.type(screen.getByLabelText("More guaranteed by type"), ": 2");
  await user.click(screen.getByRole("button", { name: "What would happen?" }));
  expect(await screen.findByText("Nothing would change for jobs at present.")).toBeVisible();
  expect(screen.getByText(/would be guaranteed 9 GPUs of type A100 in sum, and the cluster has 8/)).toBeVisible();
  expect(asked).toMatchObject([{ quotas: [{ project: quotaOwner().id, extra_guarantee_by_type: { A100: 2 } }] }]);
  await user.click(screen.getByRole("button", { name: "Boost until then" }));
  await waitFor(() => expect(received).toMatchObject([{ extra_guarantee: 0, extra_guarantee_by_type: { A100: 2 } }]));
  expect(await screen.findAllByText(/The cluster has no A100\./)).not.toHaveLength(0);
});

it("ends a boost once it said what is left", async () => {
  let ended = "";
  serve(quotaOwner({ boosts: [BOOST] }), true);
  server.use(
    http.post("/api/v1/quota-boosts/:id/end", ({ params }) => {
      ended = String(params["id"]);
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "End the boost of Vision: +2 guaranteed" }));
  const dialog = within(await screen.findByRole("dialog", { name: "End the boost of Vision?" }));
  expect(dialog.getByText(/without \+2 guaranteed/)).toBeVisible();
  expect(ended).toBe("");
  await user.click(dialog.getByRole("button", { name: "End now" }));
  await waitFor(() => expect(ended).toBe(BOOST.id));
});

it("shows boosts to all, and buttons only to who may change the quota", async () => {
  serve(quotaOwner({ boosts: [BOOST] }), false);
  renderPage("/quotas");
  expect(await screen.findByText(/Boost: \+2 guaranteed, ends/)).toHaveTextContent("(a deadline)");
  expect(screen.queryByRole("button", { name: /Boost|boost|Reserve|reserve/ })).not.toBeInTheDocument();
});

/** In local time at `hour` of the day after tomorrow, and as the API has it. */
function later(hour: number) {
  const at = new Date();
  at.setDate(at.getDate() + 2);
  at.setHours(hour, 0, 0, 0);
  return { typed: localTime(at), sent: at.toISOString(), weekday: at.toLocaleDateString("en-GB", { weekday: "short" }) };
}

it("reserves GPUs for a time that is to come, and says what the preview is of", async () => {
  const received: Record<string, unknown>[] = [];
  const [from, to] = [later(14), later(18)];
  serve(quotaOwner(), true);
  server.use(
    http.post("/api/v1/what-if", () => HttpResponse.json(whatIfAnswer())),
    http.post("/api/v1/projects/:id/quota/boosts", async ({ request }) => {
      received.push((await request.json()) as (typeof received)[number]);
      return HttpResponse.json({ ...BOOST, starts_at: from.sent, ends_at: to.sent, is_in_effect: false }, { status: 201 });
    }),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Boost or reserve GPUs for Vision" }));
  await user.type(await screen.findByLabelText("More guaranteed GPUs"), "2");
  expect(screen.queryByLabelText("Begins at")).not.toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("Begin"), "at a later time");
  expect(screen.getByRole("button", { name: "Reserve" })).toBeDisabled();
  fireEvent.change(screen.getByLabelText("Begins at"), { target: { value: from.typed } });
  await user.clear(screen.getByLabelText("For hours"));
  await user.type(screen.getByLabelText("For hours"), "4");
  await user.click(screen.getByRole("button", { name: "What would happen?" }));
  expect(await screen.findByText("As if it began now, with the jobs that there are now.")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Reserve" }));
  expect(await screen.findByText(new RegExp(`Reserved for Vision from ${from.weekday} .*2.*00.* to ${to.weekday} `))).toBeVisible();
  expect(received).toMatchObject([{ extra_guarantee: 2, starts_at: from.sent, ends_at: to.sent }]);
});

it("shows at its field why a beginning is refused", async () => {
  serve(quotaOwner(), true);
  server.use(
    http.post("/api/v1/projects/:id/quota/boosts", () =>
      problem(422, { code: "invalid_input", errors: [{ field: "starts_at", message: "It is over.", remedy: "Give a time in the future." }] }),
    ),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Boost or reserve GPUs for Vision" }));
  await user.type(await screen.findByLabelText("More guaranteed GPUs"), "2");
  await user.selectOptions(screen.getByLabelText("Begin"), "at a later time");
  fireEvent.change(screen.getByLabelText("Begins at"), { target: { value: "2020-01-01T10:00" } });
  await user.click(screen.getByRole("button", { name: "Reserve" }));
  await waitFor(() => expect(screen.getByLabelText("Begins at")).toBeInvalid());
});

it("shows what is reserved with its beginning and its end, and cancels it once it said so", async () => {
  let cancelled = "";
  const [from, to] = [later(14), later(18)];
  serve(quotaOwner({ boosts_to_come: [{ ...BOOST, starts_at: from.sent, ends_at: to.sent, is_in_effect: false }] }), true);
  server.use(
    http.post("/api/v1/quota-boosts/:id/end", ({ params }) => {
      cancelled = String(params["id"]);
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/quotas");
  const text = await screen.findByText(/Reserved: \+2 guaranteed, from/);
  expect(text).toHaveTextContent(new RegExp(`from ${from.weekday} .* to ${to.weekday} .*begins in .*\\(a deadline\\)`));
  await user.click(screen.getByRole("button", { name: /^Cancel reservation of Vision: \+2 guaranteed, from/ }));
  const dialog = within(await screen.findByRole("dialog", { name: "Cancel the reservation of Vision?" }));
  expect(dialog.getByText(/It will not get \+2 guaranteed from/)).toBeVisible();
  expect(cancelled).toBe("");
  await user.click(dialog.getByRole("button", { name: "Cancel reservation" }));
  await waitFor(() => expect(cancelled).toBe(BOOST.id));
});

it("reads the quotas anew when the platform says that what is reserved has begun", async () => {
  let isBegun = false;
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    http.get("/api/v1/organisations/:id/quota-tree", () => {
      const boost = { ...BOOST, is_in_effect: isBegun };
      const owner = quotaOwner(isBegun ? { boosts: [boost] } : { boosts_to_come: [boost] });
      isBegun = true;
      return HttpResponse.json({ may_edit: false, owners: [owner] });
    }),
  );
  renderPage("/quotas");
  expect(await screen.findByText(/Reserved: \+2 guaranteed/)).toBeVisible();
  act(() => FakeEventSource.of("/api/v1/stream").emit("event", { subject_kind: "quota", subject_id: "1" }, "41-1700"));
  expect(await screen.findByText(/Boost: \+2 guaranteed, ends/)).toBeVisible();
});
