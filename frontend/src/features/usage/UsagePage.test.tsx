// SPDX-License-Identifier: Apache-2.0
// Usage: what is asked for, what a row says, the file, and an organisation that used nothing.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { UsageReport, UsageRow } from "@/api/types";
import { renderPage } from "@/testing/render";
import { quotaOwner } from "@/testing/schedulingFixtures";
import { server } from "@/testing/server";

function row(over: Partial<UsageRow>): UsageRow {
  return {
    key: "k",
    name: "vision",
    gpu_hours: 10,
    useful_gpu_hours: 8,
    startup_gpu_hours: 1.5,
    lost_gpu_hours: 0.5,
    measured_gpu_hours: 0,
    busy_gpu_hours: null,
    idle_gpu_hours: null,
    cost: null,
    n_jobs: 3,
    ...over,
  };
}

function shown(path = "/usage", over: Partial<UsageReport> = {}) {
  const asked: URLSearchParams[] = [];
  server.use(
    http.get("/api/v1/usage", ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(query);
      const rows = query.get("by") === "day" ? [row({ key: "2026-11-01", name: "2026-11-01" })] : [row({})];
      const report = { by: query.get("by"), since: "", until: "", currency: "EUR", rows, total: row({ name: "Total" }), ...over };
      return HttpResponse.json(report);
    }),
  );
  return { asked, ...renderPage(path) };
}

it("shows GPU-hours by group with what became of them, and by day as a picture", async () => {
  shown();
  const table = await screen.findByRole("table", { name: "GPU-hours: Project" });
  for (const text of ["vision", "10", "8 (80 %)", "1.5 (15 %)", "0.5 (5 %)", "3"]) {
    expect(within(table).getByRole("cell", { name: text })).toBeVisible();
  }
  expect(screen.getByRole("img", { name: /GPU-hours of 1 day,/ })).toBeVisible();
  expect(screen.getByRole("heading", { name: "10 GPU-hours" })).toBeVisible();
  expect(within(table).getByRole("cell", { name: "not measured" })).toBeVisible();
  expect(screen.queryByLabelText("How busy the GPUs were")).toBeNull();
  expect(screen.getByText(/was not measured/)).toBeVisible();
});

it("shows how busy GPUs were where that was measured", async () => {
  const measured = { measured_gpu_hours: 8, busy_gpu_hours: 6, idle_gpu_hours: 2 };
  shown("/usage", { total: row(measured), rows: [row(measured)] });
  const table = await screen.findByRole("table", { name: "GPU-hours: Project" });
  for (const text of ["6 (75 %)", "2 (25 %)"]) expect(within(table).getByRole("cell", { name: text })).toBeVisible();
  expect(screen.getByText(/measured for 8 \(80 %\): busy 6 \(75 %\), idle 2 \(25 %\)/)).toBeVisible();
  expect(screen.getByRole("img", { name: /How busy GPUs were by day/ })).toBeVisible();
});

it("shows as a waterfall what is left of the GPU-hours after start-up and losses, and of what was measured", async () => {
  const measured = { measured_gpu_hours: 8, busy_gpu_hours: 6, idle_gpu_hours: 2 };
  shown("/usage", { total: row(measured), rows: [row(measured)] });
  const textsOf = (of: HTMLElement) => within(of).getAllByRole("term").map(({ textContent }, at) => [textContent, within(of).getAllByRole("definition")[at]?.textContent]);
  const bars = (of: HTMLElement) => Array.from(of.querySelectorAll<HTMLElement>("[data-kind]"), ({ style }) => [style.marginInlineStart, style.width]);
  const outcome = await screen.findByLabelText("What the GPU-hours were for");
  expect(textsOf(outcome)).toEqual([
    ["Held", "10 GPU-hours"],
    ["Start-up", "− 1.5 (15 %)"],
    ["Lost after the last checkpoint", "− 0.5 (5 %)"],
    ["Useful", "8 (80 %)"],
  ]);
  expect(bars(outcome)).toEqual([["0%", "100%"], ["85%", "15%"], ["80%", "5%"], ["0%", "80%"]]);
  const busy = screen.getByLabelText("How busy the GPUs were");
  expect(textsOf(busy)).toEqual([
    ["Held", "10 GPU-hours"],
    ["Not measured", "− 2 (20 %)"],
    ["Idle", "− 2 (20 %)"],
    ["Busy", "6 (60 %)"],
  ]);
  expect(bars(busy)).toEqual([["0%", "100%"], ["80%", "20%"], ["60%", "20%"], ["0%", "60%"]]);
});

it("asks for whole days, for the group and the organisation in the address, and offers the same as CSV", async () => {
  const { asked, user, router } = shown("/usage?since=2026-11-01&until=2026-11-03&by=nonsense");
  await screen.findByRole("table", { name: "GPU-hours: Project" });
  expect(asked).toHaveLength(2);
  expect(new Set(asked.map((query) => query.get("by")))).toEqual(new Set(["day", "project"]));
  expect([asked[0]?.get("since"), asked[0]?.get("until")]).toEqual(["2026-11-01T00:00:00Z", "2026-11-04T00:00:00.000Z"]);
  await user.selectOptions(screen.getByLabelText("Group by"), "gpu_type");
  await screen.findByRole("table", { name: "GPU-hours: GPU type" });
  expect(router.state.location.search).toContain("by=gpu_type");
  expect(screen.getByRole("link", { name: "CSV" }).getAttribute("href")).toContain("/api/v1/usage/export?by=gpu_type&since=2026-11-01");
});

it("shows the cost where there are prices", async () => {
  shown("/usage", { total: row({ cost: 25 }), rows: [row({ cost: 25 })] });
  expect((await screen.findAllByText("25.00 EUR")).length).toBeGreaterThan(0);
});

/** An organisation and its project, with a budget each. */
function withBudgets() {
  const budget = { gpu_hours: 100, period: "month", on_exhausted: "alert", gpu_type: "", used_gpu_hours: 50, is_exhausted: false } as const;
  const use = { ...budget, ends_at: "2026-12-01T00:00:00Z" };
  const owners = [
    quotaOwner({ kind: "organisation", id: "o", name: "Acme", above: null, budgets: [use] }),
    quotaOwner({ id: "p", name: "Vision", above: "o", budgets: [{ ...use, used_gpu_hours: 3 }] }),
  ];
  const points = [{ at: "2026-11-01T00:00:00Z", gpu_hours: 0 }, { at: "2026-11-16T00:00:00Z", gpu_hours: 50 }];
  const burnDown = { ...use, points, began_at: points[0]?.at, rate_since: points[0]?.at, predicted_gpu_hours: 100, exhausted_at: null };
  server.use(
    http.get("/api/v1/organisations/:id/quota-tree", () => HttpResponse.json({ may_edit: false, owners })),
    http.get("/api/v1/:kind/:id/quota/burn-down", ({ params }) =>
      HttpResponse.json([{ ...burnDown, gpu_hours_per_day: params.kind === "organisations" ? 3.3 : 0 }]),
    ),
  );
}

it("shows how an organisation's budget is used over time, and a project's where it is asked for", async () => {
  withBudgets();
  const { user, router } = shown();
  await user.click(await screen.findByRole("radio", { name: "Budgets" }));
  expect(router.state.location.search).toBe("?view=budgets");
  const acme = within(await screen.findByRole("region", { name: "Acme" }));
  expect(await acme.findByRole("img", { name: /50 of 100 used\. At the rate since .*, 3\.3 GPU-hours a day, 100 of 100/ })).toBeVisible();
  const vision = within(screen.getByRole("region", { name: "Vision" }));
  expect(vision.getByRole("progressbar")).toBeVisible();
  await user.click(vision.getByRole("button", { name: "Burn-down" }));
  expect(await vision.findByText(/Nothing was used since/)).toBeVisible();
  expect(router.state.location.search).toBe("?view=budgets&burn=p%3Aopen");
});

it("has those burn-downs open that the address names, closed or open as it says", async () => {
  withBudgets();
  const { user, router, unmount } = shown("/usage?view=budgets&burn=p:open,o:closed");
  const of = async (name: string) => within(await screen.findByRole("region", { name }));
  expect(await (await of("Vision")).findByText(/Nothing was used since/)).toBeVisible();
  expect((await of("Acme")).getByRole("button", { name: "Burn-down" })).toHaveAttribute("aria-expanded", "false");
  await user.click((await of("Acme")).getByRole("button", { name: "Burn-down" }));
  await user.click((await of("Vision")).getByRole("button", { name: "Hide the burn-down" }));
  const { search } = router.state.location;
  unmount();
  shown(`/usage${search}`);
  expect((await of("Acme")).getByRole("button", { name: "Hide the burn-down" })).toBeVisible();
  expect((await of("Vision")).getByRole("button", { name: "Burn-down" })).toBeVisible();
});

it.each(["p", "open", "x:open", "p:", "p:maybe", "o:maybe", "%25E0%25A4%25A:open", ":,::"])("opens what it usually does at burn=%s", async (text) => {
  withBudgets();
  shown(`/usage?view=budgets&burn=${text}`);
  const vision = within(await screen.findByRole("region", { name: "Vision" }));
  expect(vision.getByRole("button", { name: "Burn-down" })).toHaveAttribute("aria-expanded", "false");
  const acme = within(screen.getByRole("region", { name: "Acme" }));
  expect(acme.getByRole("button", { name: "Hide the burn-down" })).toHaveAttribute("aria-expanded", "true");
});

it("says what to do where nothing was used", async () => {
  shown("/usage", { rows: [], total: row({ gpu_hours: 0, useful_gpu_hours: 0, startup_gpu_hours: 0, lost_gpu_hours: 0 }) });
  expect(await screen.findByText(/No job held a GPU in this time/)).toBeVisible();
});

it("says what a budget is where there is none", async () => {
  server.use(http.get("/api/v1/organisations/:id/quota-tree", () => HttpResponse.json({ may_edit: false, owners: [] })));
  shown("/usage?view=budgets");
  expect(await screen.findByText("No budgets")).toBeVisible();
  expect(screen.queryByRole("link", { name: "CSV" })).toBeNull();
});
