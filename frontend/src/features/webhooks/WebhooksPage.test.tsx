// SPDX-License-Identifier: Apache-2.0
// Webhooks: made with a secret that is shown once, refused by field, tested, turned off and on, with their deliveries.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Delivery, Webhook, WebhookCreated } from "@/api/types";
import { organisation } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const AT = "2026-11-22T10:00:00Z";

function webhook(over: Partial<Webhook> = {}): Webhook {
  const url = "https://example.org/hook";
  return { id: "w1", url, topics: ["job.failed"], is_active: true, disabled_reason: "", failing_since: null, created_at: AT, ...over };
}

function delivery(over: Partial<Delivery> = {}): Delivery {
  return {
    id: "d1", topic: "job.failed", state: "failed", body: "{}", n_attempts: 8, status_code: 503, error: "", created_at: AT,
    due_at: AT, ended_at: AT, ...over,
  };
}

function shown(...webhooks: Webhook[]) {
  let rows = webhooks;
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/organisations", page([organisation({ role: "admin" })])),
    answers("/api/v1/organisations/{id}/webhooks", () => page(rows)),
    answers("/api/v1/webhooks/{id}/deliveries", page([delivery()])),
    http.post("/api/v1/organisations/:id/webhooks", async ({ request }) => {
      const body = (await request.json()) as { url: string; topics: Webhook["topics"] };
      if (body.url.includes("10.0.0.1")) {
        const errors = [{ field: "url", message: "10.0.0.1 is not a public one.", remedy: "Give a public address." }];
        return problem(422, { code: "invalid_input", detail: "It is not a public one.", errors });
      }
      sent.push(body);
      rows = [...rows, webhook({ ...body, id: "w2" })];
      return HttpResponse.json<WebhookCreated>({ ...webhook(body), secret: "whsec_abc" }, { status: 201 });
    }),
    http.patch("/api/v1/webhooks/:id", async ({ request }) => {
      const body = (await request.json()) as { is_active: boolean };
      rows = rows.map((row) => ({ ...row, ...body, disabled_reason: "" }));
      return HttpResponse.json<Webhook>(webhook(body));
    }),
    http.post("/api/v1/webhooks/:id/test", () => {
      sent.push("test");
      return HttpResponse.json<Delivery>(delivery({ topic: "webhook.test", state: "waiting" }), { status: 202 });
    }),
    http.post("/api/v1/deliveries/:id/send", ({ params }) => {
      sent.push(`again ${String(params.id)}`);
      return HttpResponse.json<Delivery>(delivery({ state: "waiting" }), { status: 202 });
    }),
  );
  return { sent, user: renderPage("/webhooks").user };
}

it("says that the organisations could not be read", async () => {
  server.use(answers("/api/v1/webhooks", page([])), http.get("/api/v1/organisations", () => problem(500, { title: "Broken", detail: "The list is broken." })));
  renderPage("/webhooks");
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("The list is broken.");
  expect(within(alert).getByRole("button", { name: "Try again" })).toBeVisible();
});

it("makes a webhook and shows its secret once", async () => {
  const { sent, user } = shown();
  await user.type(await screen.findByLabelText("Address"), "https://example.org/new");
  await user.click(screen.getByRole("checkbox", { name: "A dataset is ready" }));
  await user.click(screen.getByRole("button", { name: "Make a webhook" }));
  expect(await screen.findByText("whsec_abc")).toBeVisible();
  expect(sent).toEqual([{ url: "https://example.org/new", topics: ["job.succeeded", "job.failed", "dataset.ready"] }]);
  await user.click(screen.getByRole("button", { name: "I have it" }));
  expect(screen.queryByText("whsec_abc")).not.toBeInTheDocument();
  expect(screen.getByRole("region", { name: "https://example.org/new" })).toBeVisible();
});

it("says at the address why it may not be called", async () => {
  const { user } = shown();
  await user.type(await screen.findByLabelText("Address"), "https://10.0.0.1/");
  await user.click(screen.getByRole("button", { name: "Make a webhook" }));
  expect(await screen.findByText(/not a public one/)).toBeVisible();
});

it("sends a test, and what was not delivered once more", async () => {
  const { sent, user } = shown(webhook());
  await user.click(await screen.findByRole("button", { name: "Send a test" }));
  const table = within(await screen.findByRole("table", { name: "Deliveries" }));
  expect(table.getByText("503")).toBeVisible();
  await user.click(table.getByRole("button", { name: "Send again" }));
  await expect.poll(() => sent).toEqual(["test", "again d1"]);
});

it("says why the platform turned one off, and turns it on again", async () => {
  const { user } = shown(webhook({ is_active: false, disabled_reason: "The receiver answered 410 Gone." }));
  expect(await screen.findByText(/410 Gone/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Turn on" }));
  expect(await screen.findByText("On")).toBeVisible();
  expect(screen.queryByText(/410 Gone/)).not.toBeInTheDocument();
});

it("changes address and events, and shows both versions where someone else was first", async () => {
  const { user } = shown(webhook());
  const sent: unknown[] = [];
  const facts = { present: { url: "https://example.org/theirs" }, yours: { url: "https://example.org/mine" } };
  server.use(
    http.patch("/api/v1/webhooks/:id", async ({ request }) => {
      sent.push(await request.json());
      if (sent.length === 1) return problem(409, { code: "changed_meanwhile", detail: "It was changed.", ...facts });
      return HttpResponse.json<Webhook>(webhook());
    }),
  );
  const card = within(await screen.findByRole("region", { name: "https://example.org/hook" }));
  await user.click(card.getByRole("button", { name: "Change" }));
  const form = within(card.getByRole("form", { name: "Change https://example.org/hook" }));
  expect(form.getByRole("button", { name: "Save" })).toBeDisabled();
  await user.clear(form.getByLabelText("Address"));
  await user.type(form.getByLabelText("Address"), "https://example.org/mine");
  await user.click(form.getByRole("button", { name: "Save" }));
  const both = within(await card.findByRole("alert"));
  expect(both.getByRole("cell", { name: "https://example.org/theirs" })).toBeVisible();
  await user.click(both.getByRole("button", { name: "Save mine over them" }));
  await waitFor(() => expect(card.queryByRole("form")).not.toBeInTheDocument());
  const mine = { url: "https://example.org/mine" };
  expect(sent).toEqual([{ ...mine, seen: { url: "https://example.org/hook" } }, { ...mine, seen: facts.present }]);
});
