// SPDX-License-Identifier: Apache-2.0
// Requests for quota on the page of quotas: members ask, who may change the quota answers.
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { QuotaRequest } from "@/api/types";
import { renderPage } from "@/testing/render";
import { quota, quotaOwner, whatIfAnswer } from "@/testing/schedulingFixtures";
import { answers, server } from "@/testing/server";

const REQUEST: QuotaRequest = {
  ...{ id: "00000000-0000-7000-8000-0000000000c1", organisation: "00000000-0000-7000-8000-0000000000c2" },
  ...{ owner: quotaOwner().id, owner_kind: "project", owner_name: "Vision", extra_guarantee: 2, extra_guarantee_by_type: { A100: 1 } },
  ...{ extra_max_gpus: 0, extra_gpus_by_type: {} },
  ...{ starts_at: null, ends_at: null, reason: "two papers are due", requested_by: "bob", created_at: "2026-01-01T00:00:00Z" },
  ...{ state: "waiting", note: "", answered_by: "", answered_at: null },
};

function serve(may_edit: boolean, requests: QuotaRequest[] = []) {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/organisations/{id}/quota-tree", { may_edit, owners: [quotaOwner()] }),
    http.get("/api/v1/quota-requests", ({ request }) => HttpResponse.json(listed(requests, new URL(request.url).searchParams))),
  );
}

/** As the API lists them: pages of `limit`, the newest first, of those that wait or were answered. */
function listed(requests: readonly QuotaRequest[], query: URLSearchParams) {
  const found = requests.filter(({ state }) => String(state === "waiting") === query.get("is_waiting"));
  const [from, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit"))];
  const next = from + limit < found.length ? `http://localhost/api/v1/quota-requests?cursor=${from + limit}` : null;
  return { results: found.slice(from, from + limit), next, previous: null };
}

it("shows every request that waits, and of the answered ones the newest", async () => {
  const many = Array.from({ length: 230 }, (_, n) => ({ ...REQUEST, id: `waiting-${n}`, reason: `waits ${n}` }));
  const answered = Array.from({ length: 30 }, (_, n) => ({ ...REQUEST, id: `answered-${n}`, state: "approved" as const, reason: `answered ${n}` }));
  serve(false, [...answered, ...many]);
  renderPage("/quotas");
  expect(await screen.findByText("waits 229")).toBeVisible();
  expect(screen.getAllByText(/^answered \d+$/)).toHaveLength(20);
});

it("lets a member ask for more, with a reason", async () => {
  const received: Record<string, unknown>[] = [];
  serve(false);
  server.use(
    http.post("/api/v1/projects/:id/quota/requests", async ({ request }) => {
      received.push((await request.json()) as Record<string, unknown>);
      return HttpResponse.json(REQUEST, { status: 201 });
    }),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Ask for more for Vision" }));
  const form = within(screen.getByRole("form", { name: "Request for Vision" }));
  await user.type(form.getByLabelText("More guaranteed GPUs"), "2");
  await user.type(form.getByLabelText("More guaranteed by type"), "A100: 1");
  expect(form.getByRole("button", { name: "Ask" })).toBeDisabled();
  await user.type(form.getByRole("textbox", { name: /What they are for/ }), "two papers are due");
  await user.click(form.getByRole("button", { name: "Ask" }));
  expect(await screen.findByText("The request for Vision waits for an answer.")).toBeVisible();
  const extras = { extra_guarantee: 2, extra_guarantee_by_type: { A100: 1 }, extra_max_gpus: 0, extra_gpus_by_type: {} };
  expect(received).toEqual([{ ...extras, starts_at: null, ends_at: null, reason: "two papers are due" }]);
});

it("lets an admin approve, or refuse with a reason", async () => {
  const sent: [string, unknown][] = [];
  serve(true, [REQUEST]);
  server.use(
    http.post("/api/v1/quota-requests/:id/:verb", async ({ params, request }) => {
      sent.push([String(params["verb"]), await request.json()]);
      return HttpResponse.json(REQUEST);
    }),
  );
  const { user } = renderPage("/quotas");
  const row = within(await screen.findByRole("group", { name: "Request of bob for Vision" }));
  expect(row.getByText("Vision: +2 guaranteed, +1 A100 guaranteed")).toBeVisible();
  expect(row.getByRole("button", { name: "Refuse" })).toBeDisabled();
  await user.click(row.getByRole("button", { name: "Approve" }));
  await waitFor(() => expect(sent).toEqual([["approve", { note: "" }]]));
  await user.type(row.getByLabelText("Answer to bob"), "nothing is left");
  await user.click(row.getByRole("button", { name: "Refuse" }));
  await waitFor(() => expect(sent.at(-1)).toEqual(["refuse", { note: "nothing is left" }]));
});

it("shows an admin first what an approval would do", async () => {
  const asked: unknown[] = [];
  serve(true, [REQUEST]);
  server.use(
    http.post("/api/v1/what-if", async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(whatIfAnswer({ overcommitted: [{ gpu_type: "", guaranteed: null, gpus: 8 }] }));
    }),
  );
  const { user } = renderPage("/quotas");
  const row = within(await screen.findByRole("group", { name: "Request of bob for Vision" }));
  await user.click(row.getByRole("button", { name: "What would happen?" }));
  expect(await row.findByText("Nothing would change for jobs at present.")).toBeVisible();
  expect(row.getByText(/This guarantee alone would be more than the 8 GPUs of the cluster/)).toBeVisible();
  const extras = { extra_guarantee: 2, extra_guarantee_by_type: { A100: 1 }, extra_max_gpus: 0, extra_gpus_by_type: {} };
  expect(asked).toEqual([{ quotas: [{ ...extras, project: REQUEST.owner }] }]);
});

it("says of what was approved until a time that this is over", async () => {
  const request = { ...REQUEST, state: "approved" as const, answered_by: "alice" };
  serve(false, [
    { ...request, ends_at: new Date(Date.now() - 300_000).toISOString() },
    { ...request, id: "00000000-0000-7000-8000-0000000000c9", ends_at: new Date(Date.now() + 330_000).toISOString() },
  ]);
  renderPage("/quotas");
  const [over, inEffect] = await screen.findAllByRole("group", { name: "Request of bob for Vision" });
  expect(over).toHaveTextContent("ended 5 min ago");
  expect(inEffect).toHaveTextContent("ends in 5 min");
});

it("shows answers to all, and buttons only to who may decide", async () => {
  serve(false, [{ ...REQUEST, state: "refused", note: "nothing is left", answered_by: "alice" }]);
  renderPage("/quotas");
  const row = within(await screen.findByRole("group", { name: "Request of bob for Vision" }));
  expect(row.getByText("Refused")).toBeVisible();
  expect(row.getByText(/alice: nothing is left/)).toBeVisible();
  expect(row.queryByRole("button")).not.toBeInTheDocument();
});

it("keeps both answers in view when another administrator was first, until they are dismissed", async () => {
  let state: QuotaRequest["state"] = "waiting";
  serve(true);
  server.use(
    http.get("/api/v1/quota-requests", ({ request }) => HttpResponse.json(listed([{ ...REQUEST, state }], new URL(request.url).searchParams))),
    http.post("/api/v1/quota-requests/:id/approve", () => {
      state = "refused";
      const facts = { present: { state, note: "after the deadline", by: "carol" }, yours: { state: "approved", note: "" } };
      return HttpResponse.json({ status: 409, title: "Conflict", code: "request_answered", detail: "carol refused it.", ...facts }, { status: 409 });
    }),
  );
  const { user } = renderPage("/quotas");
  const row = within(await screen.findByRole("group", { name: "Request of bob for Vision" }));
  await user.click(await row.findByRole("button", { name: "Approve" }));
  await waitFor(() => expect(row.queryByRole("button", { name: "Approve" })).not.toBeInTheDocument());
  const alert = within(row.getByRole("alert"));
  expect(alert.getByRole("row", { name: "Answer Refused Approved" })).toBeVisible();
  expect(alert.getByRole("row", { name: "Reason after the deadline –" })).toBeVisible();
  await user.click(alert.getByRole("button", { name: "Dismiss" }));
  expect(row.queryByRole("alert")).not.toBeInTheDocument();
});

it("lets a member ask for a time that is to come, with an end", async () => {
  const received: Record<string, unknown>[] = [];
  serve(false);
  server.use(
    http.post("/api/v1/projects/:id/quota/requests", async ({ request }) => {
      received.push((await request.json()) as Record<string, unknown>);
      return HttpResponse.json(REQUEST, { status: 201 });
    }),
  );
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Ask for more for Vision" }));
  const form = within(screen.getByRole("form", { name: "Request for Vision" }));
  await user.type(form.getByLabelText("More guaranteed GPUs"), "2");
  await user.type(form.getByRole("textbox", { name: /What they are for/ }), "a course");
  await user.selectOptions(form.getByLabelText("Begin"), "at a later time");
  fireEvent.change(form.getByLabelText("Begins at"), { target: { value: "2030-05-06T10:00" } });
  expect(form.getByRole("button", { name: "Ask" })).toBeDisabled(); // until when is not said
  await user.type(form.getByLabelText("For days"), "2");
  await user.click(form.getByRole("button", { name: "Ask" }));
  await waitFor(() => expect(received).toHaveLength(1));
  const [from, to] = ["2030-05-06T10:00", "2030-05-08T10:00"].map((at) => new Date(at).toISOString());
  expect(received).toMatchObject([{ starts_at: from, ends_at: to }]);
});

it("says from when until when what was requested would be, or is", async () => {
  const [over, soon, later] = [-300_000, 330_000, 90_000_000].map((ms) => new Date(Date.now() + ms).toISOString());
  const of = (n: number, more: Partial<QuotaRequest>) => ({ ...REQUEST, id: `00000000-0000-7000-8000-0000000000d${n}`, ...more });
  serve(false, [
    of(1, { state: "approved", starts_at: soon, ends_at: later }),
    of(2, { state: "approved", starts_at: over, ends_at: soon }),
  ]);
  renderPage("/quotas");
  const [reserved, inEffect] = await screen.findAllByRole("group", { name: "Request of bob for Vision" });
  expect(reserved).toHaveTextContent(/from .* to /);
  expect(inEffect).toHaveTextContent("ends in 5 min");
});
