// SPDX-License-Identifier: Apache-2.0
// A job's checkpoints on its page: listed with kind and metrics; pinned, deleted together, and forked.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Checkpoint } from "@/api/types";
import { job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ID = job().id;

function checkpoint(id: number, fields: Partial<Checkpoint> = {}): Checkpoint {
  return {
    id,
    name: `attempt-0001-step-${id}`,
    step: id * 10,
    attempt_number: 1,
    is_best: false,
    is_pinned: false,
    is_reachable: true,
    metrics: {},
    size_bytes: 2048,
    at: "2026-03-02T09:00:00Z",
    ...fields,
  };
}

function stored(found: Checkpoint[]) {
  const state = { found };
  const sent: [string, unknown][] = [];
  server.use(
    answers("/api/v1/jobs/{id}", jobDetail({ state: "succeeded" })),
    answers("/api/v1/jobs/{id}/metrics", { series: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/logs", { lines: [], cursor: "0" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs/{id}/checkpoints", () => state.found),
    http.patch("/api/v1/jobs/:id/checkpoints/:checkpoint", async ({ request, params }) => {
      const body = (await request.json()) as { is_pinned: boolean };
      sent.push([`pin ${String(params["checkpoint"])}`, body]);
      state.found = state.found.map((each) => (String(each.id) === params["checkpoint"] ? { ...each, ...body } : each));
      return HttpResponse.json(state.found[0]);
    }),
    http.post("/api/v1/jobs/:id/checkpoints/delete", async ({ request }) => {
      const body = (await request.json()) as { checkpoints: number[] };
      sent.push(["delete", body]);
      state.found = state.found.filter(({ id }) => !body.checkpoints.includes(id));
      return new HttpResponse(null, { status: 204 });
    }),
    http.post("/api/v1/jobs/:id/fork", async ({ request }) => {
      sent.push(["fork", await request.json()]);
      return HttpResponse.json(job({ id: "00000000-0000-7000-8000-0000000000ff", name: "fork" }), { status: 201 });
    }),
  );
  return sent;
}

async function section() {
  return within(await screen.findByRole("table", { name: "Checkpoints" }));
}

it("lists checkpoints with their kind, metrics and size", async () => {
  stored([checkpoint(3), checkpoint(2, { is_best: true, metrics: { "eval/f1_macro": 0.91, "eval/confusion/a/b": 3 } })]);
  renderPage(`/jobs/${ID}/checkpoints`);
  const rows = (await section()).getAllByRole("row").slice(1);
  expect(rows[0]).toHaveTextContent("30To resume from–2 KiB");
  expect(rows[1]).toHaveTextContent("20Best weightseval/f1_macro 0.91");
  expect(rows[1]).not.toHaveTextContent("confusion");
  expect(within(rows[1] as HTMLElement).getByRole("link", { name: "Weights" })).toHaveAttribute(
    "href",
    `/api/v1/jobs/${ID}/checkpoints/2/weights`,
  );
});

it("pins one, deletes others together, and opens the job that is forked from one", async () => {
  const sent = stored([checkpoint(3), checkpoint(2), checkpoint(1)]);
  const { user, router } = renderPage(`/jobs/${ID}/checkpoints`);
  const table = await section();
  await user.click(table.getByRole("button", { name: "Pin the checkpoint of step 30" }));
  await table.findByRole("button", { name: "Unpin the checkpoint of step 30" });
  expect(table.getByRole("checkbox", { name: "Choose the checkpoint of step 30" })).toBeDisabled();

  await user.click(table.getByRole("checkbox", { name: "Choose the checkpoint of step 20" }));
  await user.click(table.getByRole("checkbox", { name: "Choose the checkpoint of step 10" }));
  await user.click(screen.getByRole("button", { name: "Delete 2 checkpoints" }));
  const dialogue = within(await screen.findByRole("dialog"));
  await user.click(dialogue.getByRole("button", { name: "Delete 2 checkpoints" }));
  await expect.poll(() => table.queryAllByRole("checkbox").length).toBe(1);

  await user.click(table.getByRole("button", { name: "Fork from step 30" }));
  await expect.poll(() => router.state.location.pathname).toBe("/jobs/00000000-0000-7000-8000-0000000000ff");
  expect(sent).toEqual([
    ["pin 3", { is_pinned: true }],
    ["delete", { checkpoints: [2, 1] }],
    ["fork", { checkpoint: 3 }],
  ]);
});

it("says that only pods reach the files, and offers nothing that needs them", async () => {
  stored([checkpoint(3, { is_reachable: false })]);
  renderPage(`/jobs/${ID}/checkpoints`);
  const table = await section();
  expect(screen.getByText(/Only the job's pods reach the files/)).toBeInTheDocument();
  expect(table.queryAllByRole("button")).toEqual([]);
  expect(table.queryAllByRole("link")).toEqual([]);
});

it("says of a script's own checkpoints who reads them, and not that files are out of reach", async () => {
  stored([checkpoint(3, { name: "output/checkpoint-30", is_reachable: false })]);
  const detail = jobDetail({ state: "failed" });
  server.use(answers("/api/v1/jobs/{id}", { ...detail, model_version: { ...detail.model_version, kind: "script" } }));
  renderPage(`/jobs/${ID}/checkpoints`);
  const table = await section();
  expect(await screen.findByText(/in the script's own format: it finds them when the job is resumed/)).toBeInTheDocument();
  expect(screen.queryByText(/Only the job's pods/)).toBeNull();
  expect(table.queryAllByRole("button")).toEqual([]);
});

it("keeps thousands out of the page, and chooses all, a range of steps, and from one checkbox to another", async () => {
  const many = Array.from({ length: 1200 }, (_, i) => checkpoint(1200 - i, { is_pinned: i === 3 }));
  const asked: string[] = [];
  const sent = stored(many);
  server.use(
    http.get("/api/v1/jobs/:id/checkpoints", ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(query.get("after") ?? "");
      const begin = query.has("after") ? many.findIndex(({ id }) => String(id) === query.get("after")) + 1 : 0;
      return HttpResponse.json(many.slice(begin, begin + Number(query.get("limit"))));
    }),
  );
  const { user } = renderPage(`/jobs/${ID}/checkpoints`);
  const table = await section();
  expect(asked).toEqual(["", "701", "201"]);
  expect(screen.getByText(/1,200 checkpoints/)).toBeVisible();
  expect(table.getAllByRole("row").length).toBeLessThan(100);

  await user.click(screen.getByRole("button", { name: "Choose all 1199 that may be deleted" }));
  expect(screen.getByRole("button", { name: "Delete 1,199 checkpoints" })).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Choose none" }));
  await user.type(screen.getByLabelText("From step"), "100");
  await user.type(screen.getByLabelText("To step"), "500");
  await user.click(screen.getByRole("button", { name: "Choose 41 of the range" }));
  await user.click(screen.getByRole("button", { name: "Delete 41 checkpoints" }));
  const dialogue = within(await screen.findByRole("dialog"));
  expect(dialogue.getByText("Of steps 100 to 500: 82 KiB are freed, for good.")).toBeVisible();
  expect(dialogue.getByText("1 that is pinned stays.")).toBeVisible();
  await user.click(dialogue.getByRole("button", { name: "Delete 41 checkpoints" }));
  await expect.poll(() => sent.length).toBe(1);
  const ids = Array.from({ length: 41 }, (_, i) => 50 - i);
  expect(sent).toEqual([["delete", { checkpoints: ids }]]);
});

it("chooses from one checkbox to another with Shift, but not what a job that goes on needs", async () => {
  stored([checkpoint(5), checkpoint(4), checkpoint(3, { is_best: true }), checkpoint(2), checkpoint(1)]);
  server.use(answers("/api/v1/jobs/{id}", jobDetail({ state: "paused" })));
  const { user } = renderPage(`/jobs/${ID}/checkpoints`);
  const table = await section();
  expect(table.getByRole("checkbox", { name: "Choose the checkpoint of step 50" })).toBeDisabled(); // it continues from this one
  expect(table.getByRole("checkbox", { name: "Choose the checkpoint of step 30" })).toBeDisabled();
  await user.click(table.getByRole("checkbox", { name: "Choose the checkpoint of step 40" }));
  await user.keyboard("{Shift>}");
  await user.click(table.getByRole("checkbox", { name: "Choose the checkpoint of step 10" }));
  await user.keyboard("{/Shift}");
  expect(screen.getByRole("button", { name: "Delete 3 checkpoints" })).toBeVisible();
});
