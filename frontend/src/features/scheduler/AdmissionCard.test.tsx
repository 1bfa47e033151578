// SPDX-License-Identifier: Apache-2.0
// Pausing admission: the dialogue sends reason and end, errors are at their fields, everybody sees the notice.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { Admission, AdmissionPause } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { schedulerStatus } from "@/testing/schedulingFixtures";
import { answers, page, problem, server } from "@/testing/server";

const OPEN: Admission = { is_paused: false, reason: "", since: null, until: null, paused_by: "", version: 0 };
const PAUSED: Admission = { ...OPEN, is_paused: true, reason: "The file server is repaired.", since: "2026-03-02T09:00:00Z", paused_by: "root", version: 41 };
const PATH = "*/api/v1/scheduler/admission-pause";

describe("Admission on the scheduler's page", () => {
  beforeEach(() => {
    const refused = () => problem(503, { detail: "Not now." }); // the rest of the page stands apart
    server.use(
      answers("/api/v1/auth/me", me({ is_staff: true })),
      http.get("/api/v1/scheduler/settings", refused),
      http.get("/api/v1/scheduler/insight", refused),
    );
  });

  it("is paused with a reason and an end after a dialogue, and then says so", async () => {
    let sent: AdmissionPause | undefined;
    server.use(
      http.put(PATH, async ({ request }) => {
        sent = (await request.json()) as AdmissionPause;
        server.use(answers("/api/v1/scheduler/status", schedulerStatus({ admission: PAUSED })));
        return HttpResponse.json<Admission>(PAUSED);
      }),
    );
    const { user } = renderPage("/scheduler");
    await user.click(await screen.findByRole("button", { name: "Pause admission" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Pause admission?" }));
    await user.type(dialog.getByLabelText(/Reason/), "The file server is repaired.");
    await user.type(dialog.getByLabelText("Resume by itself at"), "2099-03-02T12:00");
    await user.click(dialog.getByRole("button", { name: "Pause admission" }));
    expect(await screen.findByText("Admission is paused by root.")).toBeVisible();
    expect(sent).toEqual({ reason: "The file server is repaired.", until: new Date("2099-03-02T12:00").toISOString(), version: 0 });
    expect(screen.getByText(/: The file server is repaired\./)).toBeVisible();
  });

  it("says at the field what is wrong with it", async () => {
    const message = "Say why, for those whose jobs wait.";
    server.use(http.put(PATH, () => problem(422, { detail: message, errors: [{ field: "reason", message }] })));
    const { user } = renderPage("/scheduler");
    await user.click(await screen.findByRole("button", { name: "Pause admission" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Pause admission?" }));
    await user.click(dialog.getByRole("button", { name: "Pause admission" }));
    expect(await dialog.findByText(message)).toBeVisible();
    expect(dialog.getByLabelText(/Reason/)).toBeInvalid();
  });

  it("shows both versions when another administrator was first, and saves one's own over them", async () => {
    const sent: unknown[] = [];
    server.use(
      http.put(PATH, async ({ request }) => {
        const body = (await request.json()) as AdmissionPause;
        sent.push(body.version);
        if (body.version === 41) return HttpResponse.json<Admission>({ ...PAUSED, reason: "Power." });
        const present = { reason: "New switch.", until: null };
        return problem(409, { code: "stale_version", detail: "Another administrator was first.", version: 41, present, yours: { reason: "Power.", until: null } });
      }),
    );
    const { user } = renderPage("/scheduler");
    await user.click(await screen.findByRole("button", { name: "Pause admission" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Pause admission?" }));
    await user.type(dialog.getByLabelText(/Reason/), "Power.");
    await user.click(dialog.getByRole("button", { name: "Pause admission" }));
    expect(await dialog.findByText("New switch.")).toBeVisible();
    await user.click(dialog.getByRole("button", { name: "Save mine over them" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
    expect(sent).toEqual([0, 41]);
  });

  it("is changed, with the version that was seen", async () => {
    let sent: AdmissionPause | undefined;
    server.use(
      answers("/api/v1/scheduler/status", schedulerStatus({ admission: PAUSED })),
      http.put(PATH, async ({ request }) => {
        sent = (await request.json()) as AdmissionPause;
        return HttpResponse.json<Admission>(PAUSED);
      }),
    );
    const { user } = renderPage("/scheduler");
    await user.click(await screen.findByRole("button", { name: "Change" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Change the pause of admission" }));
    await user.clear(dialog.getByLabelText(/Reason/));
    await user.type(dialog.getByLabelText(/Reason/), "It takes longer.");
    await user.click(dialog.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(sent).toEqual({ reason: "It takes longer.", until: null, version: 41 }));
  });

  it("is resumed after a question", async () => {
    server.use(
      answers("/api/v1/scheduler/status", schedulerStatus({ admission: PAUSED })),
      http.delete(PATH, () => {
        server.use(answers("/api/v1/scheduler/status", schedulerStatus()));
        return new HttpResponse(null, { status: 204 });
      }),
    );
    const { user } = renderPage("/scheduler");
    await user.click(await screen.findByRole("button", { name: "Resume admission" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Resume admission?" }));
    await user.click(dialog.getByRole("button", { name: "Resume admission" }));
    expect(await screen.findByText("Pending jobs are started as the policy decides.")).toBeVisible();
    expect(screen.queryByText("Admission is paused")).not.toBeInTheDocument();
  });
});

describe("While admission is paused", () => {
  it.each(["/queue", "/", "/jobs"])("%s says so to everyone, with the reason", async (path) => {
    server.use(
      answers("/api/v1/auth/me", me()),
      answers("/api/v1/queue", page([])),
      answers("/api/v1/scheduler/status", schedulerStatus({ admission: { ...PAUSED, paused_by: "" } })),
    );
    renderPage(path);
    expect(await screen.findByText("Admission is paused")).toBeVisible();
    expect(screen.getByText(/: The file server is repaired\./)).toBeVisible();
    expect(screen.getByText(/It stays so until an administrator resumes admission/)).toBeVisible();
  });
});
