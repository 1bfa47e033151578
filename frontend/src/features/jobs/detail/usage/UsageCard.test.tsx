// SPDX-License-Identifier: Apache-2.0
// What pods used over time is on the job's page: a chart a resource, of each attempt, some pods at a time.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { UsageOverTime } from "@/api/types";
import { attempt, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const CPUS = { name: "cpus", title: "CPUs", unit: "count", about: "CPUs that were busy." } as const;
const AT = "2026-11-20T10:00:00Z";

function answer(over: Partial<UsageOverTime> = {}): UsageOverTime {
  const pods = [{ role: "worker" as const, index: 0, points: [{ at: AT, values: { cpus: 1 } }] }];
  return { attempt_number: 2, resources: [CPUS], pods, next_pod: null, ...over };
}

function serve(given: (query: URLSearchParams) => UsageOverTime, search = "") {
  const detail = jobDetail({ state: "running", attempts: [attempt({ id: "1", number: 1 }), attempt({ id: "2", number: 2 })] });
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/events", page([])),
    http.get("/api/v1/jobs/:id/usage", ({ request }) => HttpResponse.json(given(new URL(request.url).searchParams))),
  );
  return renderPage(`/jobs/${detail.id}/profile${search}`);
}

it("shows a chart a resource, of the attempt that is chosen", async () => {
  const { user } = serve((query) =>
    query.get("attempt") === "1" ? answer({ attempt_number: 1, resources: [], pods: [] }) : answer(),
  );
  expect(await screen.findByRole("figure", { name: "CPUs over time. CPUs that were busy." })).toBeVisible();
  await user.selectOptions(screen.getByRole("combobox", { name: "Attempt" }), "1");
  expect(await screen.findByText(/^This attempt has no samples/)).toBeVisible();
  expect(screen.queryByRole("figure", { name: /^CPUs/ })).not.toBeInTheDocument();
});

it("goes through the pods of a large gang", async () => {
  const { user, router } = serve((query) => {
    const first = Number(query.get("first_pod"));
    const pods = [first, first + 15].map((index) => ({ role: "worker" as const, index, points: [{ at: AT, values: { cpus: 1 } }] }));
    return answer({ pods, next_pod: first === 0 ? 16 : null });
  });
  expect(await screen.findByText("Worker 0 to Worker 15")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Next pods" }));
  expect(await screen.findByText("Worker 16 to Worker 31")).toBeVisible();
  expect(router.state.location.search).toBe("?pod=16");
  await user.click(screen.getByRole("button", { name: "First pods" }));
  expect(await screen.findByText("Worker 0 to Worker 15")).toBeVisible();
});

it("shows the attempt and the pods that the address names, and the first ones of another attempt", async () => {
  const asked: string[] = [];
  const { user, router } = serve((query) => {
    asked.push(`${query.get("attempt") ?? "newest"} from ${query.get("first_pod") ?? ""}`);
    return answer({ attempt_number: Number(query.get("attempt") ?? 2), next_pod: 32 });
  }, "?attempt=1&pod=16");
  expect(await screen.findByRole("button", { name: "First pods" })).toBeVisible();
  expect(asked).toEqual(["1 from 16"]);
  await user.selectOptions(screen.getByRole("combobox", { name: "Attempt" }), "2");
  await expect.poll(() => asked.at(-1)).toBe("2 from 0");
  expect(router.state.location.search).toBe("?attempt=2");
});

it("shows the part of the time that the address names, and all of it again by the button", async () => {
  const { user, router } = serve(() => answer(), "?attempt=2&time=seconds~10~75");
  await user.click(await screen.findByRole("button", { name: "10 s to 1 min 15 s: show all" }));
  await expect.poll(() => router.state.location.search).toBe("?attempt=2");
  expect(screen.queryByRole("button", { name: /show all$/ })).not.toBeInTheDocument();
});

it.each(["step~10~75", "seconds~75~10", "seconds~10", "seconds~~75", "10~75", "seconds~ten~75"])("shows all of it at time=%s", async (text) => {
  serve(() => answer(), `?time=${text}`);
  expect(await screen.findByRole("figure", { name: /^CPUs over time/ })).toBeVisible();
  expect(screen.queryByRole("button", { name: /show all$/ })).not.toBeInTheDocument();
});

it("says what failed, and offers to try again", async () => {
  const detail = jobDetail({ state: "running" });
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/events", page([])),
    http.get("/api/v1/jobs/:id/usage", () => HttpResponse.json({ title: "Broken", status: 500 }, { status: 500 })),
  );
  renderPage(`/jobs/${detail.id}/profile`);
  const heading = await screen.findByRole("heading", { name: "Resource use" });
  const card = heading.closest("section") ?? document.body;
  expect(await within(card).findByRole("button", { name: "Try again" })).toBeVisible();
});
