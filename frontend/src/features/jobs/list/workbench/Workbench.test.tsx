// SPDX-License-Identifier: Apache-2.0
// A job beside the list of jobs: chosen by pointer and keys, in the address, live by its own stream.
import { act, fireEvent, screen, within } from "@testing-library/react";
import { http } from "msw";
import { beforeEach, expect, it, vi } from "vitest";

import { FakeEventSource } from "@/testing/eventsource";
import { attempt, job, jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";
import { ADDRESS, ID, line, point, stored, stream } from "@/testing/storedJob";

const SECOND = job({ id: "b", name: "second", state: "succeeded", current_attempt: attempt({ ended_at: "2026-03-02T09:30:00Z" }) });

const chosenJob = async () => within(await screen.findByRole("region", { name: "Chosen job" }));
const row = (name: RegExp) => screen.findByRole("row", { name });
const log = async () => within(await (await chosenJob()).findByRole("log", { name: "Log" }));

beforeEach(() => {
  localStorage.clear();
  stored(jobDetail(), { points: [point(110, 0.9), point(120, 0.8)], lines: [line(19, "old line")] });
  server.use(answers("/api/v1/jobs", page([job(), SECOND])));
});

it("shows the job of a clicked row beside the list, live, and whatever the address says after a reload and Back", async () => {
  const { user, router, unmount } = renderPage("/jobs?state=running");
  await user.click(within(await row(/digits-cnn/)).getByText("Running"));
  expect(await (await chosenJob()).findByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", ADDRESS);
  expect(router.state.location.search).toBe(`?state=running&job=${ID}`);
  expect(await row(/digits-cnn/)).toHaveAttribute("aria-current", "true");
  expect(await (await log()).findByText(/old line/)).toBeVisible();
  expect((await chosenJob()).getByRole("button", { name: "Pause" })).toBeEnabled();
  const source = await stream();
  act(() => {
    source.open();
    source.emit("log", { lines: [line(21, "new line")] }, "10-21");
    source.emit("job", job({ steps_done: 300, progress: 0.5 }), "11-21");
  });
  expect(await (await log()).findByText(/new line/)).toBeVisible();
  expect((await chosenJob()).getByText("300 of 600 steps")).toBeVisible();
  await act(() => router.navigate(-1));
  expect(screen.queryByRole("region", { name: "Chosen job" })).not.toBeInTheDocument();
  unmount();
  renderPage(`/jobs?job=${ID}`);
  expect(await (await chosenJob()).findByText("120 of 600 steps")).toBeVisible();
});

it("listens to one job at a time, and reads its log anew when one comes back to it", async () => {
  let lines = [line(19, "old line")];
  server.use(
    answers("/api/v1/jobs/{id}/logs", () => ({ lines, is_end: true, n_found: null, cursor: "20" })),
    answers("/api/v1/jobs/b", jobDetail({ ...SECOND, finished_at: null, attempts: [] })),
  );
  const { user } = renderPage(`/jobs?job=${ID}`);
  const source = await stream();
  await (await log()).findByText(/old line/);
  lines = [line(19, "old line"), line(21, "came meanwhile")];
  await user.click(within(await row(/second/)).getByText("Succeeded"));
  await (await chosenJob()).findByRole("link", { name: "second" });
  expect(source.readyState).toBe(FakeEventSource.CLOSED);
  await user.click(within(await row(/digits-cnn/)).getByText("Running"));
  await (await chosenJob()).findByRole("link", { name: "digits-cnn" });
  expect(await (await log()).findByText(/came meanwhile/)).toBeVisible();
});

it("goes into the job with Enter, looks at it with Space, walks with arrows, and comes back with Escape", async () => {
  server.use(answers("/api/v1/jobs/b", jobDetail({ ...SECOND, attempts: [] })));
  const { user, router } = renderPage("/jobs");
  (await screen.findByRole("table", { name: "Jobs" })).focus();
  await user.keyboard("{ArrowDown}");
  await expect.poll(() => document.activeElement?.getAttribute("data-job")).toBe(ID);
  await user.keyboard(" ");
  await (await chosenJob()).findByRole("link", { name: "digits-cnn" });
  expect(document.activeElement).toHaveAttribute("data-job", ID);
  await user.keyboard("{ArrowDown}");
  expect(await (await chosenJob()).findByRole("link", { name: "second" })).toBeVisible();
  expect(document.activeElement).toHaveAttribute("data-job", "b");
  await user.keyboard("{Enter}");
  await expect.poll(() => document.activeElement).toBe(screen.getByRole("region", { name: "Chosen job" }));
  await user.keyboard("{Escape}");
  await expect.poll(() => router.state.location.search).toBe("");
  expect(document.activeElement).toHaveAttribute("data-job", "b");
});

it("leaves the clicks on a row's link and box to them", async () => {
  const { user, router } = renderPage("/jobs");
  await user.click(within(await row(/digits-cnn/)).getByRole("checkbox"));
  expect(router.state.location.search).toBe("");
  await user.click(within(await row(/digits-cnn/)).getByRole("link", { name: "digits-cnn" }));
  await expect.poll(() => router.state.location.pathname).toBe(ADDRESS);
});

it("says when the job of the address is not there, beside the list that is", async () => {
  server.use(http.get("/api/v1/jobs/gone", () => problem(404, { title: "Not found", detail: "No such job." })));
  const { user } = renderPage("/jobs?job=gone");
  expect(await (await chosenJob()).findByText("No such job.")).toBeVisible();
  expect(await row(/second/)).toBeVisible();
  await user.click((await chosenJob()).getByRole("button", { name: "Close the job" }));
  await expect.poll(() => screen.queryByRole("region", { name: "Chosen job" })).toBeNull();
});

it("leads to the job's page where there is no room beside the list", async () => {
  vi.spyOn(window, "matchMedia").mockImplementation((query) => Object.assign(new EventTarget(), { matches: query.includes("48em"), media: query, onchange: null, addListener: () => undefined, removeListener: () => undefined }));
  const { router } = renderPage(`/jobs?job=${ID}`);
  await expect.poll(() => router.state.location.pathname).toBe(ADDRESS);
});

it("divides the room between list and job with arrow keys, remembers it, and forgets it at a double click", async () => {
  const { user, unmount } = renderPage(`/jobs?job=${ID}`);
  const line = await screen.findByRole("separator", { name: "Width of the list" });
  line.focus();
  await user.keyboard("{Home}");
  expect(line).toHaveAttribute("aria-valuenow", "25");
  await user.keyboard("{ArrowRight}");
  expect(line).toHaveAttribute("aria-valuenow", "27");
  unmount();
  renderPage(`/jobs?job=${ID}`);
  const again = await screen.findByRole("separator", { name: "Width of the list" });
  expect(again).toHaveAttribute("aria-valuenow", "27");
  expect(again.parentElement?.style.getPropertyValue("--second-share")).toBe("73%");
  fireEvent.doubleClick(again);
  expect(again).toHaveAttribute("aria-valuenow", "56");
  expect(again.parentElement?.style.getPropertyValue("--second-share")).toBe("");
});
