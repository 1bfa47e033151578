// SPDX-License-Identifier: Apache-2.0
// Notebooks: how one is started, the way in, and what is said before and after it is paused.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { afterEach, expect, it, vi } from "vitest";

import { jobDetail, project } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { schedulerStatus } from "@/testing/schedulingFixtures";
import { answers, problem, server } from "@/testing/server";
import { ADDRESS, ID, stored } from "@/testing/storedJob";

const status = {
  is_ready: true,
  idle_limit_s: 1800,
  active_at: "2026-03-02T09:00:00Z",
  stops_at: "2026-03-02T09:30:00Z",
  is_warned: false,
  silent_since: null,
  reclaimed_at: null,
};

afterEach(() => vi.restoreAllMocks());

it("starts a notebook in the queue and goes to its page", async () => {
  stored(jobDetail({ kind: "notebook", name: "look", state: "queued", current_attempt: null, attempts: [] }));
  let sent: unknown = null;
  server.use(
    http.post("/api/v1/jobs", async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json({ id: ID }, { status: 201 });
    }),
    answers("/api/v1/jobs/{id}/notebook", { ...status, is_ready: false, stops_at: null }),
  );
  const { user } = renderPage("/jobs");
  await user.click(await screen.findByRole("button", { name: "New notebook" }));
  const dialog = within(await screen.findByRole("dialog", { name: "New notebook" }));
  await user.type(await dialog.findByRole("textbox", { name: "Name" }), "look");
  await user.click(dialog.getByRole("button", { name: "Start" }));
  const card = within(await screen.findByRole("region", { name: "Notebook" }));
  expect(await card.findByText("It waits for a GPU.")).toBeInTheDocument();
  expect(card.getByRole("button", { name: "Open notebook" })).toBeDisabled();
  expect(sent).toEqual({ kind: "notebook", project: project().id, name: "look", limits: { idle_s: 1800 } });
});

it("opens the notebook at the address that it is given, in a window without a way back", async () => {
  stored(jobDetail({ kind: "notebook", state: "running" }));
  const url = `http://${ID}.notebooks.localhost/_mlhub/enter?ticket=t`;
  server.use(
    answers("/api/v1/jobs/{id}/notebook", status),
    http.post(`/api/v1/jobs/${ID}/notebook`, () => HttpResponse.json({ url, expires_at: status.stops_at }, { status: 201 })),
  );
  const replace = vi.fn();
  const opened = { opener: window as Window | null, location: { replace }, close: vi.fn() };
  vi.spyOn(window, "open").mockReturnValue(opened as unknown as Window);
  const { user } = renderPage(ADDRESS);
  const button = await screen.findByRole("button", { name: "Open notebook" });
  await expect.poll(() => button.hasAttribute("disabled")).toBe(false);
  await user.click(button);
  await expect.poll(() => replace.mock.calls).toEqual([[url]]);
  expect(opened.opener).toBeNull();
});

it("says why it cannot be opened, and closes the window", async () => {
  stored(jobDetail({ kind: "notebook", state: "running" }));
  server.use(
    answers("/api/v1/jobs/{id}/notebook", status),
    http.post(`/api/v1/jobs/${ID}/notebook`, () => problem(403, { title: "Role too low", detail: "This needs the role admin." })),
  );
  const close = vi.fn();
  vi.spyOn(window, "open").mockReturnValue({ close } as unknown as Window);
  const { user } = renderPage(ADDRESS);
  const button = await screen.findByRole("button", { name: "Open notebook" });
  await expect.poll(() => button.hasAttribute("disabled")).toBe(false);
  await user.click(button);
  expect(await screen.findByText("This needs the role admin.")).toBeInTheDocument();
  expect(close).toHaveBeenCalled();
});

it("warns before it is paused, and says afterwards why", async () => {
  stored(jobDetail({ kind: "notebook", state: "running" }));
  server.use(answers("/api/v1/jobs/{id}/notebook", { ...status, is_warned: true }));
  const { unmount } = renderPage(ADDRESS);
  expect(await screen.findByRole("alert", { name: /Nothing is done in it: it is paused at/ })).toBeInTheDocument();
  unmount();
  stored(jobDetail({ kind: "notebook", state: "paused", intent: "pause" }));
  const reclaimed = { ...status, is_ready: false, stops_at: null, reclaimed_at: "2026-03-02T09:30:00Z" };
  server.use(answers("/api/v1/jobs/{id}/notebook", reclaimed));
  renderPage(ADDRESS);
  expect(await screen.findByText(/since nothing was done in it/)).toBeInTheDocument();
});

it("is asked for nothing where the installation has none, and says why", async () => {
  const why = "This platform offers no notebooks: it connects to none of the machines on which pods run. Run a script instead.";
  server.use(answers("/api/v1/scheduler/status", schedulerStatus({ offers_notebooks: false, no_notebooks_because: why })));
  const { user } = renderPage("/jobs");
  await user.click(await screen.findByRole("button", { name: "New notebook" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(await dialog.findByText(why)).toBeVisible();
  expect(dialog.queryByRole("textbox")).not.toBeInTheDocument();
});

it("says that JupyterLab does not answer, and after the pause that it was why", async () => {
  const silent = { ...status, is_ready: false, silent_since: "2026-03-02T09:20:00Z" };
  stored(jobDetail({ kind: "notebook", state: "running" }));
  server.use(answers("/api/v1/jobs/{id}/notebook", silent));
  const { unmount } = renderPage(ADDRESS);
  expect(await screen.findByText("It does not answer.")).toBeInTheDocument();
  expect(screen.getByRole("alert")).toHaveTextContent(/has not answered since/);
  expect(screen.getByRole("button", { name: "Open notebook" })).toBeDisabled();
  unmount();
  const pauseReason = "It was paused, since JupyterLab did not answer. Its folder is kept: resume it.";
  stored(jobDetail({ kind: "notebook", state: "paused", current_attempt: null, pause_reason: pauseReason }));
  server.use(answers("/api/v1/jobs/{id}/notebook", { ...silent, stops_at: null, reclaimed_at: "2026-03-02T09:30:00Z" }));
  renderPage(ADDRESS);
  expect(await screen.findByText(/since JupyterLab had not answered since/)).toBeInTheDocument();
  expect(within(screen.getByRole("status", { name: "It is paused" })).getByText(pauseReason)).toBeVisible();
});
