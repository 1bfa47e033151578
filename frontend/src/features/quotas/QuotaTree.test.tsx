// SPDX-License-Identifier: Apache-2.0
// The tree of quotas: rules, books and boosts of each owner, and changing them.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { QuotaOwner } from "@/api/types";
import { csvOfOwners } from "@/features/quotas/OwnerBar";
import { renderPage } from "@/testing/render";
import { quota, quotaOwner } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";

const GIB = 1024 ** 3;

const ACME = quotaOwner({
  ...{ kind: "organisation", id: "00000000-0000-7000-8000-0000000000a1", name: "Acme", above: null },
  ...{ guarantee: 8, guaranteed: 8, used: 6, lent: 1, queued_gpus: 4 },
});
const VISION = quotaOwner({ guarantee: 2, guaranteed: 2, used: 5, borrowed: 3, version: 7 });

function serveTree(may_edit: boolean, owners: QuotaOwner[] = [ACME, VISION]) {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/organisations/{id}/quota-tree", { may_edit, owners }),
  );
}

describe("The tree of quotas", () => {
  it("shows what each is guaranteed, borrows and lends, and what pending jobs request", async () => {
    serveTree(false);
    renderPage("/quotas");
    expect(
      await screen.findByRole("img", { name: "Acme: 6 of 8 guaranteed used · 1 lent · pending jobs request 4 GPUs" }),
    ).toBeVisible();
    expect(screen.getByRole("img", { name: "Vision: 2 of 2 guaranteed used · 3 borrowed" })).toBeVisible();
    expect(screen.queryByRole("button", { name: /Change/ })).not.toBeInTheDocument();
  });

  it("can be saved as a picture and as numbers", async () => {
    serveTree(false);
    renderPage("/quotas");
    expect(await screen.findByRole("button", { name: "Save or link: Acme Guarantees, borrowing and lending" })).toBeEnabled();
    expect(csvOfOwners([ACME, { ...VISION, above: ACME.id }]).trim().split("\r\n").slice(1)).toEqual([
      "Acme,organisation,,8,6,0,1,4",
      `Vision,${VISION.kind},Acme,2,5,3,0,0`,
    ]);
  });

  it("warns of guarantees that the cluster cannot honour, with the sum for those who may know it", async () => {
    const all = [{ gpu_type: "", guaranteed: null, gpus: 4 }];
    serveTree(false, [{ ...ACME, overcommitted: all }, VISION]);
    const { unmount } = renderPage("/quotas");
    const warning = await screen.findByRole("alert");
    expect(warning).toHaveTextContent("Organisations are guaranteed more than the 4 GPUs of the cluster in sum");
    unmount();
    const known = [
      { gpu_type: "", guaranteed: 12, gpus: 4 },
      { gpu_type: "A100", guaranteed: 2, gpus: 0 },
    ];
    serveTree(true, [{ ...ACME, overcommitted: known }, VISION]);
    renderPage("/quotas");
    const rows = within(await screen.findByRole("alert")).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      expect.stringContaining("guaranteed 12 GPUs in sum, and the cluster has 4"),
      expect.stringContaining("guaranteed 2 GPUs of type A100 in sum, and the cluster has 0"),
    ]);
  });

  it("says nothing of guarantees while the cluster can honour all", async () => {
    serveTree(true);
    renderPage("/quotas");
    await screen.findByRole("img", { name: /^Vision:/ });
    expect(screen.queryByText("More GPUs are guaranteed than the cluster has")).not.toBeInTheDocument();
  });

  it("indents teams below teams, level by level", async () => {
    const team = (id: string, above: string) => quotaOwner({ kind: "team", id, name: id, above });
    serveTree(false, [ACME, team("research", ACME.id), team("vision", "research"), team("video", "vision"), team("product", ACME.id)]);
    renderPage("/quotas");
    await screen.findByRole("img", { name: /^video:/ });
    const levels = ["Acme", "research", "vision", "video", "product"].map((name) => {
      const shown = screen.getByRole("img", { name: new RegExp(`^${name}:`) });
      return shown.closest<HTMLElement>("[style*='--level']")?.style.getPropertyValue("--level");
    });
    expect(levels).toEqual(["0", "1", "2", "3", "1"]);
  });

  it("shows limits of types, CPUs, memory, jobs and storage of a team or project with what is used of them", async () => {
    const used = { used_by_type: { A100: 1 }, used_cpus: 2.5, used_memory_bytes: 3 * GIB, waiting_jobs: 3, storage_bytes: GIB };
    const limits = {
      ...{ gpus_by_type: { A100: 2 }, max_cpus: 16, max_memory_bytes: 64 * GIB },
      ...{ max_waiting_jobs: 5, max_storage_bytes: 4 * GIB },
    };
    serveTree(false, [ACME, quotaOwner({ ...limits, ...used })]);
    renderPage("/quotas");
    const rows = within(await screen.findByRole("list", { name: "Limits of Vision" })).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      "GPUs of type A1001 of 2",
      "CPUs2.5 of 16",
      "Memory3 GiB of 64 GiB",
      "Waiting jobs3 of 5",
      "Storage1 GiB of 4 GiB",
    ]);
    expect(screen.queryByRole("list", { name: "Limits of Acme" })).not.toBeInTheDocument();
  });

  it("saves limits of types, CPUs, memory, jobs and storage as they were typed", async () => {
    const received: unknown[] = [];
    serveTree(true, [ACME, quotaOwner({ gpus_by_type: { A100: 2 }, max_running_jobs: 4, version: 7 })]);
    server.use(
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json(VISION);
      }),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    const form = within(await screen.findByRole("form", { name: "Quota of Vision" }));
    const types = form.getByLabelText("GPUs by type");
    expect(types).toHaveValue("A100: 2");
    await user.type(types, ", T4");
    expect(form.getByText("Give types with numbers, as in A100: 2, T4: 4")).toBeVisible();
    expect(form.getByRole("button", { name: "Save" })).toBeDisabled();
    await user.type(types, ": 1");
    await user.clear(form.getByLabelText("Running jobs"));
    await user.type(form.getByLabelText("Waiting jobs"), "20");
    await user.type(form.getByLabelText("Storage (GiB)"), "1.5");
    await user.type(form.getByLabelText("CPUs"), "16");
    await user.type(form.getByLabelText("Memory (GiB)"), "0.5");
    await user.click(form.getByRole("button", { name: "Save" }));
    const limits = {
      ...{ max_cpus: 16, max_memory_bytes: 0.5 * GIB },
      ...{ max_running_jobs: null, max_waiting_jobs: 20, max_storage_bytes: 1.5 * GIB },
    };
    await waitFor(() => expect(received).toEqual([{ ...limits, gpus_by_type: { A100: 2, T4: 1 }, version: 7 }]));
  });

  it("shows what each is guaranteed of a GPU type, and saves that as it was typed", async () => {
    const received: unknown[] = [];
    const books = { A100: { guaranteed: 4, used: 3, borrowed: 0, lent: 1 }, T4: { guaranteed: 0, used: 2, borrowed: 2, lent: 0 } };
    serveTree(true, [ACME, quotaOwner({ guarantee_by_type: { A100: 4 }, books_by_type: books, version: 7 })]);
    server.use(
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        const message = "Acme is guaranteed 4 GPUs of type A100, and 0 of them are shared out; 6 are too many.";
        if (received.length === 1) {
          return problem(422, { code: "invalid_input", errors: [{ field: "guarantee_by_type", message, remedy: "" }] });
        }
        return HttpResponse.json(VISION);
      }),
    );
    const { user } = renderPage("/quotas");
    const rows = within(await screen.findByRole("list", { name: "GPU types of Vision" })).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      "A100: 3 of 4 guaranteed used · 1 lent",
      "T4: nothing guaranteed · 2 borrowed",
    ]);
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    const form = within(await screen.findByRole("form", { name: "Quota of Vision" }));
    const types = form.getByLabelText("Guarantee by type");
    expect(types).toHaveValue("A100: 4");
    await user.clear(types);
    await user.type(types, "A100 6");
    expect(form.getByRole("button", { name: "Save" })).toBeDisabled();
    await user.clear(types);
    await user.type(types, "A100: 6");
    await user.click(form.getByRole("button", { name: "Save" }));
    expect(await form.findAllByText(/6 are too many/)).not.toHaveLength(0);
    await user.clear(types);
    await user.click(form.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(received).toEqual([
        { guarantee_by_type: { A100: 6 }, version: 7 },
        { guarantee_by_type: {}, version: 7 },
      ]),
    );
  });

  it("shows limits of borrowing and lending of a GPU type next to what is used of them, and saves them", async () => {
    const received: unknown[] = [];
    const books = { A100: { guaranteed: 4, used: 3, borrowed: 0, lent: 1 }, T4: { guaranteed: 0, used: 2, borrowed: 2, lent: 0 } };
    const limits = { lend_limit_by_type: { A100: 2 }, borrow_limit_by_type: { T4: 3 } };
    serveTree(true, [ACME, quotaOwner({ ...limits, guarantee_by_type: { A100: 4 }, books_by_type: books, version: 7 })]);
    server.use(
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        const message = "The cluster has no GPUs of type T40, so none can be borrowed.";
        if (received.length === 1) {
          return problem(422, { code: "invalid_input", errors: [{ field: "borrow_limit_by_type", message, remedy: "" }] });
        }
        return HttpResponse.json(VISION);
      }),
    );
    const { user } = renderPage("/quotas");
    const rows = within(await screen.findByRole("list", { name: "GPU types of Vision" })).getAllByRole("listitem");
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      "A100: 3 of 4 guaranteed used · 1 of at most 2 lent",
      "T4: nothing guaranteed · 2 of at most 3 borrowed",
    ]);
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    const form = within(await screen.findByRole("form", { name: "Quota of Vision" }));
    const borrow = form.getByLabelText("May borrow by type");
    expect(borrow).toHaveValue("T4: 3");
    expect(form.getByLabelText("May lend by type")).toHaveValue("A100: 2");
    await user.clear(borrow);
    await user.type(borrow, "T40: 1");
    await user.click(form.getByRole("button", { name: "Save" }));
    expect(await form.findAllByText(/no GPUs of type T40/)).not.toHaveLength(0);
    await user.clear(borrow);
    await user.type(borrow, "T4: 1");
    await user.clear(form.getByLabelText("May lend by type"));
    await user.click(form.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(received).toEqual([
        { borrow_limit_by_type: { T40: 1 }, version: 7 },
        { borrow_limit_by_type: { T4: 1 }, lend_limit_by_type: {}, version: 7 },
      ]),
    );
  });

  it("shows admins what a change would do before they save it, with the version that was on screen", async () => {
    serveTree(true);
    const received: unknown[] = [];
    const prospect = { mode: "", n_workers: 1, n_servers: 0, start_at: null, finish_at: null, finish_p90_at: null };
    const sentence = "Vision uses 5 GPUs and is guaranteed 1.";
    const effect = {
      ...{ id: "00000000-0000-7000-8000-0000000000f9", name: "long", role: "other" },
      before: { ...prospect, decision: "keep", explanations: [] },
      after: { ...prospect, decision: "preempt", explanations: [{ reason: "reclaimed", sentence, facts: {} }] },
      ...{ start_delta_s: null, finish_delta_s: null },
    };
    const belowUse = { owner: "Vision", limit: "max_gpus", gpu_type: "", used: 5, amount: 1, drains: true };
    server.use(
      http.post("/api/v1/what-if", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json({ policy: "mlhub", as_of: "", decide_ms: 1, n_jobs: 2, basis: "", effects: [effect], overcommitted: [], below_use: [belowUse], stop_grace_s: 30 });
      }),
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json(VISION);
      }),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    expect(screen.queryByRole("button", { name: "Change Acme" })).not.toBeInTheDocument();
    const form = await screen.findByRole("form", { name: "Quota of Vision" });
    await user.clear(within(form).getByLabelText("Guarantee"));
    await user.type(within(form).getByLabelText("Guarantee"), "1");
    await user.click(within(form).getByRole("button", { name: "What would happen?" }));

    const shown = await within(form).findByRole("status");
    expect(shown).toHaveTextContent("1 running job gives GPUs back.");
    expect(shown).toHaveTextContent(sentence);
    expect(shown).toHaveTextContent("At most: Vision uses 5 now, and the limit would be 1.");
    expect(shown).toHaveTextContent("jobs above it save a checkpoint within 30 s, and wait");
    await user.click(within(form).getByRole("button", { name: "Save" }));
    expect(await screen.findByText("The quota of Vision is saved.")).toBeVisible();
    expect(received).toEqual([{ quotas: [{ guarantee: 1, project: VISION.id }] }, { guarantee: 1, version: 7 }]);
  });

  it("says at the field what the API refuses", async () => {
    serveTree(true);
    const message = "Acme is guaranteed 8 GPUs, and 2 of them are shared out; 9 are too many.";
    server.use(
      http.patch("/api/v1/projects/:id/quota", () =>
        problem(422, { title: "Invalid input", detail: message, errors: [{ field: "guarantee", message, remedy: "" }] }),
      ),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    const form = await screen.findByRole("form", { name: "Quota of Vision" });
    await user.clear(within(form).getByLabelText("Guarantee"));
    await user.type(within(form).getByLabelText("Guarantee"), "9");
    await user.click(within(form).getByRole("button", { name: "Save" }));
    expect((await within(form).findAllByText(message))[0]).toBeVisible();
  });

  it("lets admins have a team's projects share fairly, by what they used lately", async () => {
    const team = quotaOwner({ kind: "team", id: "00000000-0000-7000-8000-0000000000c7", name: "Perception" });
    const received: unknown[] = [];
    serveTree(true);
    server.use(
      http.get("/api/v1/organisations/:id/quota-tree", () => HttpResponse.json({ may_edit: true, owners: [team] })),
      http.patch("/api/v1/teams/:id/quota", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json(team);
      }),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Perception" }));
    const form = await screen.findByRole("form", { name: "Quota of Perception" });
    expect(within(form).queryByLabelText("Half-life of use, hours")).not.toBeInTheDocument();
    await user.selectOptions(within(form).getByLabelText("Its parts share"), "Fairly, by weight");
    await user.clear(within(form).getByLabelText("Half-life of use, hours"));
    await user.type(within(form).getByLabelText("Half-life of use, hours"), "168");
    await user.click(within(form).getByRole("button", { name: "Save" }));
    expect(await screen.findByText("The quota of Perception is saved.")).toBeVisible();
    expect(received).toEqual([{ shares_fairly: true, half_life_s: 604_800, version: 1 }]);
  });

  it("shows budgets with what is used of them, and lets admins change all of them", async () => {
    const project = quotaOwner({
      budgets: [
        {
          ...{ gpu_hours: 100, period: "week", on_exhausted: "stop_new", gpu_type: "A100" },
          ...{ used_gpu_hours: 100.04, ends_at: "2026-11-30T00:00:00Z", is_exhausted: true },
        },
      ],
    });
    const received: unknown[] = [];
    serveTree(true);
    server.use(
      http.get("/api/v1/organisations/:id/quota-tree", () => HttpResponse.json({ may_edit: true, owners: [project] })),
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json(project);
      }),
    );
    const { user } = renderPage("/quotas");
    const bars = await screen.findByRole("list", { name: "Budgets of Vision" });
    expect(bars).toHaveTextContent("GPU-hours per week on A100");
    expect(bars).toHaveTextContent("100 of 100");
    expect(bars).toHaveTextContent("Used up: no job starts until 2026-11-30, 00:00 UTC");

    await user.click(screen.getByRole("button", { name: "Change Vision" }));
    const form = await screen.findByRole("form", { name: "Quota of Vision" });
    const save = within(form).getByRole("button", { name: "Save" });
    await user.click(within(form).getByRole("button", { name: "Add a budget" }));
    expect(save).toBeDisabled();
    const added = within(within(form).getByRole("group", { name: "Budget 2" }));
    await user.type(added.getByLabelText("GPU-hours"), "500");
    await user.selectOptions(added.getByLabelText("When used up"), "Running jobs stop, too");
    await user.click(within(form).getByRole("button", { name: "Remove budget 1" }));
    await user.click(save);
    expect(await screen.findByText("The quota of Vision is saved.")).toBeVisible();
    const kept = { gpu_hours: 500, period: "month", on_exhausted: "stop_all", gpu_type: "" };
    expect(received).toEqual([{ budgets: [kept], version: 1 }]);
  });

  it("shows both versions where two admins edit at once, and saves one's own over the other on request", async () => {
    serveTree(true);
    const received: unknown[] = [];
    const facts = { version: 9, present: { guarantee: 5 }, yours: { guarantee: 1 } };
    server.use(
      http.patch("/api/v1/projects/:id/quota", async ({ request }) => {
        received.push(await request.json());
        const conflict = { code: "stale_version", title: "Conflict", detail: "Another user changed this quota.", ...facts };
        return received.length === 1 ? problem(409, conflict) : HttpResponse.json(VISION);
      }),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    const form = await screen.findByRole("form", { name: "Quota of Vision" });
    await user.clear(within(form).getByLabelText("Guarantee"));
    await user.type(within(form).getByLabelText("Guarantee"), "1");
    await user.click(within(form).getByRole("button", { name: "Save" }));
    const both = await within(form).findByRole("table", { name: "Present and own rules" });
    expect(within(both).getByRole("row", { name: "Guarantee 5 1" })).toBeVisible();
    await user.type(within(form).getByLabelText("Guarantee"), "{Backspace}1");
    expect(both).toBeVisible();
    await user.click(within(form).getByRole("button", { name: "Save mine over them" }));
    expect(await screen.findByText("The quota of Vision is saved.")).toBeVisible();
    expect(received).toEqual([{ guarantee: 1, version: 7 }, { guarantee: 1, version: 9 }]);
  });

  it("shows who changed a quota and what, and restores an older version", async () => {
    serveTree(true);
    const received: unknown[] = [];
    const budget = { gpu_hours: 5, period: "week", on_exhausted: "alert", gpu_type: "" };
    const versions = [
      {
        ...{ version: 7, at: "2026-11-23T08:00:00Z", actor: "grace" },
        ...{ before: { guarantee: 2, budgets: [] }, after: { guarantee: 4, budgets: [budget] } },
      },
    ];
    server.use(
      http.get("/api/v1/projects/:id/quota/versions", () => HttpResponse.json(versions)),
      http.post("/api/v1/projects/:id/quota/restore", async ({ request }) => {
        received.push(await request.json());
        return HttpResponse.json(quotaOwner());
      }),
    );
    const { user } = renderPage("/quotas");
    await user.click(await screen.findByRole("button", { name: "Change Vision" }));
    await user.click(screen.getByRole("button", { name: "History" }));
    const history = await screen.findByRole("list", { name: "History of Vision" });
    expect(history).toHaveTextContent("Version 7, grace");
    expect(history).toHaveTextContent("Guarantee 2 → 4, Budgets none → 5 GPU-hours per week");
    await user.click(within(history).getByRole("button", { name: "Restore version 6" }));
    expect(await screen.findByText("The quota of Vision is as at version 6 again.")).toBeVisible();
    expect(received).toEqual([{ version: 6, seen: 7 }]);
  });
});
