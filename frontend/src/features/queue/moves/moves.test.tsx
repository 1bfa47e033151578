// SPDX-License-Identifier: Apache-2.0
// Moves in the queue: simulated first, made by a priority, taken back; for those who may change the job.
import { createEvent, fireEvent, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { QueueMove, SimulatedMove } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { queuedJob } from "@/testing/schedulingFixtures";
import { answers, page, server } from "@/testing/server";

const [A, B, C] = ["a", "b", "c"].map((name, at) => queuedJob({ id: `00000000-0000-7000-8000-0000000000f${at}`, name, place: at + 1, priority: 0 })) as [
  ReturnType<typeof queuedJob>,
  ReturnType<typeof queuedJob>,
  ReturnType<typeof queuedJob>,
];
const ANSWER: SimulatedMove = {
  policy: "mlhub",
  as_of: "2026-03-02T09:00:00Z",
  decide_ms: 12,
  n_jobs: 4,
  present_priority: 0,
  priority: 1,
  present_place: 3,
  place: 1,
  is_reached: true,
  effects: [{ id: A.id, name: "a", owner: "grace", organisation: "Globex", role: "other", before: null, after: null, start_delta_s: 300, finish_delta_s: 300 }],
};

/** The queue of three jobs; what is asked of the API. */
function queue(answer: SimulatedMove = ANSWER) {
  const asked: { moves: QueueMove[]; priorities: number[] } = { moves: [], priorities: [] };
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    answers("/api/v1/queue", page([A, B, C])),
    http.post("/api/v1/queue/moves", async ({ request }) => {
      asked.moves.push((await request.json()) as QueueMove);
      return HttpResponse.json(answer);
    }),
    http.patch(`/api/v1/jobs/${C.id}`, async ({ request }) => {
      const { priority } = (await request.json()) as { priority: number };
      asked.priorities.push(priority);
      return HttpResponse.json({ ...C, priority });
    }),
  );
  return asked;
}

describe("Moves in the queue", () => {
  it("are made by keyboard: simulated, with their cost and whose it is, then made and taken back", async () => {
    const asked = queue();
    const { user } = renderPage("/queue");
    const handle = await screen.findByRole("button", { name: "Move c" });
    handle.focus();
    await user.keyboard("{Enter}");
    await user.click(await screen.findByRole("menuitem", { name: "To the top of the list" }));
    const dialog = await screen.findByRole("dialog", { name: "Move c before a?" });
    expect(await within(dialog).findByText("With priority 1 instead of 0 c would be at place 1 instead of 3.")).toBeVisible();
    expect(within(dialog).getByText("0 jobs would finish earlier, 1 later.")).toBeVisible();
    expect(within(dialog).getByRole("row", { name: /^a/ })).toHaveTextContent("grace of Globex");
    expect(asked).toEqual({ moves: [{ job: C.id, before: A.id }], priorities: [] }); // nothing happened yet
    await user.click(within(dialog).getByRole("button", { name: "Give it priority 1" }));
    expect(await screen.findByText("c has priority 1 now; the next round moves it.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Undo" }));
    await expect.poll(() => asked.priorities).toEqual([1, 0]);
    await expect.poll(() => screen.queryByRole("button", { name: "Undo" })).toBeNull();
    expect(asked.moves).toHaveLength(1);
  });

  it("pause a job until that is undone", async () => {
    queue();
    const verbs: string[] = [];
    server.use(
      http.post(`/api/v1/jobs/${C.id}/:verb`, ({ params }) => {
        verbs.push(String(params.verb));
        return HttpResponse.json(C);
      }),
    );
    const { user } = renderPage("/queue");
    await user.click(await screen.findByRole("button", { name: "Move c" }));
    await user.click(await screen.findByRole("menuitem", { name: "Pause: out of the queue until it is resumed" }));
    expect(await screen.findByText("c is paused: it is out of the queue until it is resumed.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Undo" }));
    await expect.poll(() => verbs).toEqual(["pause", "resume"]);
    await expect.poll(() => screen.queryByRole("region", { name: "What was done" })).toBeNull();
  });

  it("are asked for by dragging a row onto another one's half", async () => {
    const asked = queue();
    renderPage("/queue");
    const handle = await screen.findByRole("button", { name: "Move a" });
    const [, , row] = within(screen.getByRole("table", { name: "Queue" })).getAllByRole("row");
    if (row === undefined) throw new Error("There is no second job.");
    fireEvent.dragStart(handle, { dataTransfer: { setData: () => undefined } });
    const over = createEvent.dragOver(row);
    Object.defineProperty(over, "clientY", { value: 1 }); // below the middle of a row without a height
    fireEvent(row, over);
    expect(row).toHaveAttribute("data-drop", "after");
    fireEvent.drop(row);
    expect(await screen.findByRole("dialog", { name: "Move a behind b?" })).toBeVisible();
    await expect.poll(() => asked.moves).toEqual([{ job: A.id, after: B.id }]);
  });

  it("say when no priority is enough, and then offer none", async () => {
    queue({ ...ANSWER, priority: 0, place: 3, is_reached: false, effects: [] });
    const { user } = renderPage("/queue");
    await user.click(await screen.findByRole("button", { name: "Move c" }));
    await user.click(await screen.findByRole("menuitem", { name: "Move up" }));
    const dialog = await screen.findByRole("dialog", { name: "Move c before b?" });
    expect(await within(dialog).findByText("No priority brings it before b: to the policy other things count for more.")).toBeVisible();
    expect(within(dialog).queryByRole("button", { name: /Give it/ })).toBeNull();
  });

  it("say why they are refused", async () => {
    queue();
    server.use(
      http.post("/api/v1/queue/moves", () =>
        HttpResponse.json({ title: "Invalid input", status: 422, detail: "c is served before b already.", code: "invalid" }, { status: 422 }),
      ),
    );
    const { user } = renderPage("/queue");
    await user.click(await screen.findByRole("button", { name: "Move c" }));
    await user.click(await screen.findByRole("menuitem", { name: "Move up" }));
    expect(await screen.findByText("c is served before b already.")).toBeVisible();
  });

  it("are not offered for jobs that one may not change", async () => {
    queue();
    server.use(answers("/api/v1/auth/me", me({ is_staff: false, memberships: [] })));
    renderPage("/queue");
    expect(await screen.findByRole("table", { name: "Queue" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Move a" })).toBeNull();
  });
});
