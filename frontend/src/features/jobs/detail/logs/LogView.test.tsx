// SPDX-License-Identifier: Apache-2.0
// The log: any part of it by scrolling and search, only what is in view in the page, new lines at its end.
import { act, fireEvent, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { LogLine } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";
import { logOverview } from "@/testing/storedJob";

const ID = jobDetail().id;
const N = 3000;

const line = (seq: number): LogLine => ({
  seq, at: "2026-03-02T09:00:00Z", attempt_number: 1, role: "worker", index: 0, number: seq, text: `text ${seq}`, n_dropped: 0, is_error: false,
});

const TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 3', "ValueError: no label"];

/** A job with a log of N lines that answers as the API does; the queries that it got are kept in the list. */
function withLog(): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  const all = Array.from({ length: N }, (_, index) => line(index + 1));
  all.splice(7, 3, ...TRACEBACK.map((text, i) => ({ ...line(8 + i), text, is_error: i !== 1 })));
  all.splice(14, 1, { ...line(15), text: "ERROR late", is_error: true });
  server.use(
    answers("/api/v1/jobs/{id}", jobDetail()),
    answers("/api/v1/jobs/{id}/metrics/names", { names: [], next: null }),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs/{id}/logs/overview", logOverview({ first_seq: 1, last_seq: N, errors: [3, 0, 0], n_errors: 3 })),
    http.get("/api/v1/jobs/:id/logs", ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(query);
      const search = query.get("search") ?? "";
      if (search === "(") return problem(422, { errors: [{ field: "search", message: "It is no regular expression." }] });
      const limit = Number(query.get("limit"));
      const found = all.filter(({ text, is_error }) => text.includes(search) && (is_error || query.get("errors") !== "true"));
      const [before, after] = [Number(query.get("before")), Number(query.get("after"))];
      const wanted = found.filter(({ seq }) => (query.has("before") ? seq < before : seq > after));
      const lines = query.has("before") ? wanted.slice(-limit) : wanted.slice(0, limit);
      const nFound = search === "" ? null : found.length;
      return HttpResponse.json({ lines, is_end: lines.length === wanted.length, n_found: nFound, cursor: `1-${N}` });
    }),
  );
  return asked;
}

const log = () => screen.getByRole("log", { name: "Log" });
const texts = () => [...log().querySelectorAll("[data-index]")].map((row) => row.textContent);

it("keeps only the lines in view in the page, and reads earlier ones when one scrolls up", async () => {
  const asked = withLog();
  renderPage(`/jobs/${ID}/logs`);
  await expect.poll(() => screen.queryByRole("log")).not.toBeNull();
  await expect.poll(() => texts().length).toBeGreaterThan(5);
  expect(texts().length).toBeLessThan(100);
  expect(asked).toHaveLength(1);
  fireEvent.scroll(log(), { target: { scrollTop: 0 } });
  await expect.poll(() => asked.at(-1)?.get("before")).toBe(String(N - 500 + 1));
});

it("finds lines in the whole log, counts them, and shows one among its neighbours", async () => {
  const asked = withLog();
  const { user } = renderPage(`/jobs/${ID}/logs`);
  await user.type(await screen.findByRole("searchbox", { name: "Search the log" }), "text 123");
  expect(await screen.findByText("11 lines found")).toBeVisible();
  await expect.poll(() => texts().every((text) => text.includes("text 123"))).toBe(true);
  await user.click(within(log()).getByRole("button", { name: "Show line 123 in its context" }));
  await expect.poll(() => asked.at(-1)?.get("after")).toBe("73");
  await expect.poll(() => within(log()).queryByText("text 74", { exact: false })).not.toBeNull();
  expect(screen.getByRole("searchbox", { name: "Search the log" })).toHaveValue("");
});

it("goes to the first error and the next, a folded traceback being one, and opens it by keyboard", async () => {
  const asked = withLog();
  const { user } = renderPage(`/jobs/${ID}/logs`);
  expect(await screen.findByText("3 lines with errors")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "First error" }));
  const fold = await screen.findByRole("button", { name: "2 more lines" });
  expect(within(log()).queryByText("train.py", { exact: false })).toBeNull();
  fold.focus();
  await user.keyboard("{Enter}");
  expect(await within(log()).findByText('File "train.py", line 3', { exact: false })).toBeVisible();
  expect(within(log()).getByRole("button", { name: "Fold traceback" })).toHaveAttribute("aria-expanded", "true");
  await user.click(within(log()).getByRole("button", { name: "Fold traceback" }));
  await user.click(screen.getByRole("button", { name: "Next error" }));
  await expect.poll(() => asked.at(-1)?.get("after")).toBe("10");
  await expect.poll(() => log().querySelector("[aria-current]")?.textContent).toContain("ERROR late");
  await user.click(screen.getByRole("button", { name: "Next error" }));
  expect(await screen.findByText("No later error")).toBeVisible();
});

it("goes to the place in the whole log that is clicked in the bar next to it", async () => {
  const asked = withLog();
  renderPage(`/jobs/${ID}/logs`);
  const bar = await screen.findByRole("slider", { name: "Place in the log" });
  fireEvent.keyDown(bar, { key: "Home" });
  await expect.poll(() => asked.at(-1)?.get("after")).toBe("0"); // an error is there: it is gone to
  fireEvent.keyDown(await screen.findByRole("slider", { name: "Place in the log" }), { key: "End" });
  await expect.poll(() => asked.at(-1)?.get("after")).toBe("2000");
});

it("says that the bar could not be read, next to the lines, and tries again", async () => {
  withLog();
  let isBroken = true;
  server.use(
    http.get("/api/v1/jobs/:id/logs/overview", () =>
      isBroken ? problem(500, { title: "Broken", detail: "The counts are broken." }) : HttpResponse.json(logOverview({ first_seq: 1, last_seq: N, errors: [3, 0, 0], n_errors: 3 })),
    ),
  );
  const { user } = renderPage(`/jobs/${ID}/logs`);
  expect(await screen.findByText("Where errors are in the whole log could not be read: The counts are broken.")).toBeVisible();
  await expect.poll(() => texts().length).toBeGreaterThan(5);
  expect(screen.queryByRole("slider", { name: "Place in the log" })).not.toBeInTheDocument();
  isBroken = false;
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("slider", { name: "Place in the log" })).toBeVisible();
  expect(screen.queryByText(/could not be read/)).not.toBeInTheDocument();
});

it("says at the search what is wrong with it", async () => {
  withLog();
  const { user } = renderPage(`/jobs/${ID}/logs`);
  await user.type(await screen.findByRole("searchbox", { name: "Search the log" }), "(");
  expect(await screen.findByText("It is no regular expression.")).toBeVisible();
});

it("adds the lines that the stream brings at its end, each once", async () => {
  withLog();
  const { queries } = renderPage(`/jobs/${ID}/logs`);
  await expect.poll(() => FakeEventSource.instances.some(({ url }) => url.includes(`/jobs/${ID}/stream`))).toBe(true);
  await expect.poll(() => screen.queryByRole("log")).not.toBeNull();
  act(() => {
    FakeEventSource.of(`/api/v1/jobs/${ID}/stream`).emit("log", { lines: [line(N), line(N + 1), line(N + 2)] });
  });
  const shown = () =>
    queries
      .getQueryCache()
      .findAll({ queryKey: ["live", ID, "log"] })
      .flatMap(({ state }) => (state.data as { pages: { lines: LogLine[] }[] }).pages.flatMap(({ lines }) => lines));
  await expect.poll(() => shown().slice(-3).map(({ seq }) => seq)).toEqual([N, N + 1, N + 2]);
});

it("looks where errors are again when the stream has brought lines, and not before", async () => {
  withLog();
  let nAsked = 0;
  server.use(
    http.get("/api/v1/jobs/:id/logs/overview", () => {
      nAsked += 1;
      return HttpResponse.json(logOverview({ first_seq: 1, last_seq: N, errors: [2 + nAsked, 0, 0], n_errors: 2 + nAsked }));
    }),
  );
  renderPage(`/jobs/${ID}/logs`);
  expect(await screen.findByText("3 lines with errors")).toBeVisible();
  await expect.poll(() => FakeEventSource.instances.some(({ url }) => url.includes(`/jobs/${ID}/stream`))).toBe(true);
  expect(nAsked).toBe(1);
  act(() => FakeEventSource.of(`/api/v1/jobs/${ID}/stream`).emit("log", { lines: [line(N + 1)] }));
  expect(await screen.findByText("4 lines with errors")).toBeVisible();
});

it("offers the whole log as a file", async () => {
  withLog();
  renderPage(`/jobs/${ID}/logs`);
  const link = await screen.findByRole("link", { name: "Download log" });
  expect(link).toHaveAttribute("href", `/api/v1/jobs/${ID}/logs/download`);
});
