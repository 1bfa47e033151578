// SPDX-License-Identifier: Apache-2.0
// Many metrics: a page of charts at a time, found by name; only curves that are looked at are read.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import type { MetricName } from "@/api/types";
import { jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ID = jobDetail().id;
const NAMES = 60;

function name(number: number): MetricName {
  const key = `layer${String(number).padStart(2, "0")}/norm${number}`;
  return { key, n_points: 3, last_step: 30, last_value: number, attempt_number: 1 };
}

/** A job with many metrics; what is read of them is kept in the list that is returned. */
function withMetrics(): string[] {
  const read: string[] = [];
  const names = Array.from({ length: NAMES }, (_, number) => name(number));
  server.use(
    answers("/api/v1/jobs/{id}", jobDetail()),
    answers("/api/v1/jobs/{id}/logs", { lines: [], is_end: true, n_found: null, cursor: "1-1" }),
    answers("/api/v1/jobs/{id}/events", page([])),
    http.get("/api/v1/jobs/:id/metrics/names", ({ request }) => {
      const after = new URL(request.url).searchParams.get("after");
      return HttpResponse.json(
        after === null ? { names: names.slice(0, 40), next: names[39]?.key } : { names: names.slice(40), next: null },
      );
    }),
    http.get("/api/v1/jobs/:id/metrics", ({ request }) => {
      const key = new URL(request.url).searchParams.get("key") ?? "";
      read.push(key);
      const point = { step: 30, epoch: 1, value: 2, at: "2026-03-02T09:00:00Z", attempt_number: 1 };
      return HttpResponse.json({ series: [{ key, points: [point], is_thinned: false }], next: null, cursor: "1-1" });
    }),
  );
  return read;
}

const charts = () => screen.queryAllByRole("figure").map((chart) => chart.getAttribute("aria-label"));

it("shows a page of charts, reads only their curves, and gives the latest value of each", async () => {
  const read = withMetrics();
  const { user } = renderPage(`/jobs/${ID}/metrics`);
  await expect.poll(charts).toHaveLength(12);
  await expect.poll(() => new Set(read).size).toBe(12);
  expect(screen.getByText("60 metrics")).toBeVisible();
  const row = await screen.findByRole("row", { name: /layer00\/norm0/ });
  expect(within(row).getAllByRole("cell")[0]).toHaveTextContent("0");
  await user.click(screen.getByRole("button", { name: "Charts, page 5" }));
  await expect.poll(charts).toContain("Curve of norm9 by step");
  await expect.poll(() => new Set(read).size).toBe(24);
});

it("finds charts by name", async () => {
  withMetrics();
  const { user } = renderPage(`/jobs/${ID}/metrics`);
  await user.type(await screen.findByRole("searchbox", { name: "Search metrics" }), "LAYER4");
  await expect.poll(charts).toHaveLength(10);
  expect(screen.getByText("10 charts found")).toBeVisible();
});

it("keeps in the address what is searched for, the page of charts, how they are drawn and which steps are shown", async () => {
  const read: URLSearchParams[] = [];
  const keys = withMetrics();
  server.events.on("request:start", ({ request }) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/metrics")) read.push(searchParams);
  });
  const { user, router } = renderPage(`/jobs/${ID}/metrics?find=layer&charts=5&steps=10~20&log=1`);
  expect(await screen.findByRole("searchbox", { name: "Search metrics" })).toHaveValue("layer");
  await expect.poll(charts).toHaveLength(12);
  expect(charts()).toContain("Curve of norm59 by step");
  expect(screen.getByRole("switch", { name: "Logarithmic scale" })).toBeChecked();
  await expect.poll(() => read.filter((query) => query.get("first_step") === "10" && query.get("last_step") === "20").length).toBe(12);
  await user.selectOptions(screen.getByRole("combobox", { name: "Smoothing" }), "0.9");
  await user.click(screen.getByRole("button", { name: "Steps 10 to 20: show all" }));
  await expect.poll(() => router.state.location.search).toBe("?find=layer&charts=5&log=1&smooth=0.9");
  await user.type(screen.getByRole("searchbox", { name: "Search metrics" }), "0");
  await expect.poll(() => new URLSearchParams(router.state.location.search).get("charts")).toBeNull();
  await expect.poll(charts).toHaveLength(10);
  await expect.poll(() => keys.filter((key) => key.startsWith("layer0")).length).toBeGreaterThanOrEqual(10);
  server.events.removeAllListeners();
});

it("reads no curve before its chart comes into view", async () => {
  const observed: (() => void)[] = [];
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(private readonly callback: IntersectionObserverCallback) {}
      observe(target: Element) {
        if (target.tagName !== "FIGURE") return;
        const entry = { isIntersecting: true, target, boundingClientRect: { width: 700 } };
        observed.push(() => this.callback([entry as unknown as IntersectionObserverEntry], this as never));
      }
      disconnect() {
        // Nothing is left to do.
      }
    },
  );
  const read = withMetrics();
  renderPage(`/jobs/${ID}/metrics`);
  await expect.poll(charts).toHaveLength(12);
  const keys = charts().map((label) => /norm(\d+)/.exec(label ?? "")?.[0] ?? "");
  const isRead = (place: number) => read.some((key) => key.endsWith(`/${keys[place]}`));
  expect(keys.map((_, place) => isRead(place))).not.toContain(true);
  observed[3]?.();
  await expect.poll(() => isRead(3)).toBe(true);
  expect(isRead(4)).toBe(false);
  vi.unstubAllGlobals();
});
