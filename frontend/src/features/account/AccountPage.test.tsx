// SPDX-License-Identifier: Apache-2.0
// One's own account: changing the password, ending a session of another browser, and the link of an administrator.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { MailNotices, Me, Session } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

const HERE: Session = {
  id: "00000000-0000-7000-8000-000000000001",
  created_at: "2026-11-22T09:00:00Z",
  address: "192.0.2.1",
  user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
  method: "password",
  is_current: true,
};
const ELSEWHERE: Session = { ...HERE, id: "00000000-0000-7000-8000-000000000002", address: "192.0.2.2", is_current: false };

const NOTICES: MailNotices = { topics: ["job.failed"], email: "ada@example.org", has_mail_server: true };

beforeEach(() => server.use(answers("/api/v1/auth/notices", NOTICES)));

it("names a wrong present password, then changes it", async () => {
  server.use(
    answers("/api/v1/auth/sessions", page([HERE])),
    http.post("/api/v1/auth/password", async ({ request }) => {
      const { current_password } = (await request.json()) as { current_password: string };
      if (current_password === "right") return new HttpResponse(null, { status: 204 });
      const error = { field: "current_password", message: "This is not your present password.", remedy: "" };
      return problem(422, { code: "wrong_password", detail: error.message, errors: [error] });
    }),
  );
  const { user } = renderPage("/account");
  await user.type(await screen.findByLabelText(/^Present password/), "wrong");
  await user.type(screen.getByLabelText(/^New password/), "correct horse battery");
  await user.click(screen.getByRole("button", { name: "Change password" }));
  expect(await screen.findByText("This is not your present password.")).toBeVisible();
  await user.clear(screen.getByLabelText(/^Present password/));
  await user.type(screen.getByLabelText(/^Present password/), "right");
  await user.click(screen.getByRole("button", { name: "Change password" }));
  expect(await screen.findByText(/The password is changed/)).toBeVisible();
});

it("signs another browser out, and offers nothing of the kind for this one", async () => {
  let found = [HERE, ELSEWHERE];
  server.use(
    answers("/api/v1/auth/sessions", () => page(found)),
    http.delete("/api/v1/auth/sessions/:id", ({ params }) => {
      found = found.filter(({ id }) => id !== params["id"]);
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/account");
  const table = within(await screen.findByRole("table", { name: "Sessions" }));
  expect(table.getAllByRole("button")).toHaveLength(1);
  expect(table.getAllByText("Firefox on Linux", { exact: false })[1]).toHaveAttribute("title", HERE.user_agent);
  await user.click(table.getByRole("button", { name: "Sign out the session from 192.0.2.2" }));
  await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Sign out" }));
  await expect.poll(() => screen.queryByText("192.0.2.2")).toBeNull();
});

it("sets the password at the link of an administrator and leads into the dashboard", async () => {
  const sent: unknown[] = [];
  server.use(
    http.get("/api/v1/auth/csrf", () => new HttpResponse(null, { status: 204 })),
    http.post("/api/v1/auth/password-link", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json<Me>(me());
    }),
    answers("/api/v1/jobs", page([])),
  );
  const { user, router } = renderPage("/set-password#s3cret");
  await user.type(await screen.findByLabelText(/^New password/), "correct horse battery");
  await user.click(screen.getByRole("button", { name: "Set the password" }));
  await expect.poll(() => router.state.location.pathname).toBe("/");
  expect(sent).toEqual([{ secret: "s3cret", password: "correct horse battery", code: "" }]);
});

it("keeps at once what one is notified of by e-mail", async () => {
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/sessions", page([HERE])),
    http.put("/api/v1/auth/notices", async ({ request }) => {
      const { topics } = (await request.json()) as Pick<MailNotices, "topics">;
      sent.push(topics);
      return HttpResponse.json<MailNotices>({ ...NOTICES, topics });
    }),
  );
  const { user } = renderPage("/account");
  expect(await screen.findByRole("checkbox", { name: "failed" })).toBeChecked();
  await user.click(screen.getByRole("checkbox", { name: "waits for long" }));
  await expect.poll(() => sent).toEqual([["job.failed", "job.waiting_long"]]);
  expect(await screen.findByRole("checkbox", { name: "waits for long" })).toBeChecked();
});

it("says that there is no mail server, or no address", async () => {
  server.use(
    answers("/api/v1/auth/sessions", page([HERE])),
    answers("/api/v1/auth/notices", { ...NOTICES, has_mail_server: false }),
  );
  renderPage("/account");
  expect(await screen.findByText(/no mail server/)).toBeVisible();
});
