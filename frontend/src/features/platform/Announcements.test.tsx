// SPDX-License-Identifier: Apache-2.0
// Announcements: everybody reads them on every page as plain text, until they are dismissed or end; administrators publish and delete.
import { act, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { afterEach, describe, expect, it, vi } from "vitest";

import type { Announcement, AnnouncementRequest } from "@/api/types";
import { FakeEventSource } from "@/testing/eventsource";
import { AT, me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const ID = "00000000-0000-7000-8000-0000000000a7";
const LIST = "/api/v1/announcements";

function announcement(over: Partial<Announcement> = {}): Announcement {
  return {
    ...{ id: ID, text: "The file server is repaired.", severity: "information", organisation: null, state: "current" },
    ...{ begins_at: AT, ends_at: null, is_dismissible: true, published_by: "", published_at: AT },
    ...over,
  };
}

const current = (announcements: Announcement[], next: string | null = null) =>
  answers(`${LIST}/current`, { announcements, next_change_at: next });

describe("What administrators announce", () => {
  afterEach(() => vi.useRealTimers());

  it.each(["/", "/queue", "/datasets"])("is above %s, whatever it says as text", async (path) => {
    const text = '<a href="https://evil.example">status</a> [page](https://evil.example)';
    server.use(current([announcement({ text, severity: "warning", is_dismissible: false })]), answers("/api/v1/queue", page([])));
    renderPage(path);
    expect(await screen.findByText(text)).toBeVisible();
    expect(screen.getByText("Warning")).toBeVisible();
    expect(screen.queryByRole("link", { name: /status|page/ })).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Dismiss" })).not.toBeInTheDocument();
  });

  it("goes when it is dismissed, and the server knows that", async () => {
    const dismissed = vi.fn();
    server.use(
      current([announcement()]),
      http.post(`*${LIST}/${ID}/dismissal`, () => {
        dismissed();
        server.use(current([]));
        return new HttpResponse(null, { status: 204 });
      }),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Dismiss" }));
    await waitFor(() => expect(screen.queryByText("The file server is repaired.")).not.toBeInTheDocument());
    expect(dismissed).toHaveBeenCalledTimes(1);
  });

  it("shows the first of many, warnings before the others, and all of them on demand", async () => {
    const many = Array.from({ length: 5 }, (_, at) => announcement({ id: `${ID.slice(0, -1)}${at}`, text: `Notice ${at}`, severity: at === 3 ? "warning" : "information" }));
    server.use(current(many));
    const { user } = renderPage("/datasets");
    expect(await screen.findByText("Notice 3")).toBeVisible();
    expect(screen.queryByText("Notice 0")).not.toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Show 4 more announcements" }));
    for (const { text } of many) expect(screen.getByText(text)).toBeVisible();
  });

  it("comes by the stream, without a look every now and then", async () => {
    renderPage("/runs");
    await screen.findByText("No runs yet");
    server.use(current([announcement({ organisation: { id: ID, name: "Acme" } })]));
    act(() => FakeEventSource.of("/api/v1/stream").emit("changed", { kinds: ["announcement"] }));
    expect(await screen.findByText("Announcement for Acme")).toBeVisible();
  });

  it("ends by itself at its end", async () => {
    let reads = 0;
    server.use(
      answers(`${LIST}/current`, () => {
        reads += 1;
        const end = new Date(Date.now() + 200).toISOString();
        return reads === 1 ? { announcements: [announcement()], next_change_at: end } : { announcements: [], next_change_at: null };
      }),
    );
    renderPage("/datasets");
    expect(await screen.findByText("The file server is repaired.")).toBeVisible();
    await waitFor(() => expect(screen.queryByText("The file server is repaired.")).not.toBeInTheDocument(), { timeout: 10_000 });
    expect(reads).toBe(2);
  });
});

describe("The page of administrators", () => {
  const asStaff = answers("/api/v1/auth/me", me({ is_staff: true }));

  it("publishes one, with its times, and lists it", async () => {
    let sent: AnnouncementRequest | undefined;
    server.use(
      asStaff,
      http.post(`*${LIST}`, async ({ request }) => {
        sent = (await request.json()) as AnnouncementRequest;
        server.use(answers(LIST, page([announcement({ state: "scheduled", published_by: "root" })])));
        return HttpResponse.json(announcement(), { status: 201 });
      }),
    );
    const { user } = renderPage("/platform");
    expect(await screen.findByText("No announcements")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "New announcement" }));
    const dialog = within(await screen.findByRole("dialog", { name: "New announcement" }));
    await user.type(dialog.getByLabelText(/Text/), "The file server is repaired.");
    await user.selectOptions(dialog.getByLabelText("Severity"), "warning");
    await user.type(dialog.getByLabelText("Begins at"), "2099-03-02T12:00");
    await user.click(dialog.getByRole("checkbox", { name: "People can dismiss it" }));
    await user.click(dialog.getByRole("button", { name: "Publish" }));
    expect(await screen.findByText("Scheduled")).toBeVisible();
    expect(sent).toEqual({
      ...{ text: "The file server is repaired.", severity: "warning", organisation: null, is_dismissible: false },
      ...{ begins_at: new Date("2099-03-02T12:00").toISOString(), ends_at: null },
    });
  });

  it("says at the field what is wrong with it", async () => {
    const message = "It would end before it begins: give a later time.";
    server.use(asStaff, http.post(`*${LIST}`, () => problem(422, { detail: message, errors: [{ field: "ends_at", message }] })));
    const { user } = renderPage("/platform");
    await user.click(await screen.findByRole("button", { name: "New announcement" }));
    const dialog = within(await screen.findByRole("dialog", { name: "New announcement" }));
    await user.click(dialog.getByRole("button", { name: "Publish" }));
    expect(await dialog.findByText(message)).toBeVisible();
    expect(dialog.getByLabelText("Ends at")).toBeInvalid();
  });

  it("deletes one after a question", async () => {
    server.use(
      asStaff,
      answers(LIST, page([announcement()])),
      http.delete(`*${LIST}/${ID}`, () => {
        server.use(answers(LIST, page([])));
        return new HttpResponse(null, { status: 204 });
      }),
    );
    const { user } = renderPage("/platform");
    await user.click(await screen.findByRole("button", { name: /^Delete the announcement/ }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Delete" }));
    expect(await screen.findByText("No announcements")).toBeVisible();
  });

  it("is no page for others", async () => {
    renderPage("/platform");
    expect(await screen.findByText("This page is for administrators")).toBeVisible();
  });
});
