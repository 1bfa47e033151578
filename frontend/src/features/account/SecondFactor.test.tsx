// SPDX-License-Identifier: Apache-2.0
// Setting a second factor up: password, QR code, code, and the recovery codes once; removing it asks for both.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

it("sets the second factor up, shows the recovery codes once, and removes it with password and code", async () => {
  let isEnabled = false;
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/sessions", page([])),
    answers("/api/v1/auth/notices", { topics: [], email: "", has_mail_server: false }),
    answers("/api/v1/auth/second-factor", () => ({ is_enabled: isEnabled, n_recovery_codes: isEnabled ? 10 : 0, has_password: true, is_recovering: false })),
    http.post("/api/v1/auth/second-factor", async ({ request }) => {
      sent.push(await request.json());
      const body = { secret: "JBSWY3DPEHPK3PXP", address: "otpauth://totp/MLHub:ada", qr_svg: "<svg></svg>" };
      return HttpResponse.json(body, { status: 201 });
    }),
    http.post("/api/v1/auth/second-factor/confirm", async ({ request }) => {
      sent.push(await request.json());
      isEnabled = true;
      return HttpResponse.json({ recovery_codes: ["aaaaa-bbbbb", "ccccc-ddddd"] });
    }),
    http.post("/api/v1/auth/second-factor/remove", async ({ request }) => {
      const body = (await request.json()) as { code: string };
      sent.push(body);
      const errors = [{ field: "code", message: "This code is wrong.", code: "wrong_code" }];
      if (body.code === "1") return problem(422, { code: "wrong_code", detail: "This code is wrong.", errors });
      isEnabled = false;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user } = renderPage("/account");
  const setUp = within(await screen.findByRole("form", { name: "Set up a second factor" }));
  await user.type(setUp.getByLabelText(/^Your password/), "right");
  await user.click(setUp.getByRole("button", { name: "Set up" }));
  expect(await screen.findByText("JBSWY3DPEHPK3PXP")).toBeVisible();
  const confirm = within(screen.getByRole("form", { name: "Set up a second factor" }));
  expect(confirm.getByAltText("QR code of the secret")).toHaveAttribute("src", expect.stringContaining("data:image/svg+xml"));
  await user.type(confirm.getByLabelText(/^Code/), "123456");
  await user.click(confirm.getByRole("button", { name: "Turn it on" }));
  expect(await screen.findByText(/aaaaa-bbbbb/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "I have it" }));
  expect(screen.queryByText(/aaaaa-bbbbb/)).not.toBeInTheDocument();

  const remove = within(await screen.findByRole("form", { name: "Remove the second factor" }));
  await user.type(remove.getByLabelText(/^Your password/), "right");
  await user.type(remove.getByLabelText(/^Code/), "1");
  await user.click(remove.getByRole("button", { name: "Remove it" }));
  expect(await remove.findByText("This code is wrong.")).toBeVisible();
  await user.type(remove.getByLabelText(/^Code/), "2");
  await user.click(remove.getByRole("button", { name: "Remove it" }));
  expect(await screen.findByRole("form", { name: "Set up a second factor" })).toBeVisible();
  expect(sent).toEqual([
    { password: "right", code: "" },
    { code: "123456" },
    { password: "right", code: "1" },
    { password: "right", code: "12" },
  ]);
});

it("asks for the password alone after a sign-in by the last recovery code, and makes new codes", async () => {
  let left = 0;
  const sent: unknown[] = [];
  server.use(
    answers("/api/v1/auth/sessions", page([])),
    answers("/api/v1/auth/notices", { topics: [], email: "", has_mail_server: false }),
    answers("/api/v1/auth/second-factor", () => ({ is_enabled: true, n_recovery_codes: left, has_password: true, is_recovering: true })),
    http.post("/api/v1/auth/second-factor/recovery-codes", async ({ request }) => {
      sent.push(await request.json());
      left = 10;
      return HttpResponse.json({ recovery_codes: ["eeeee-fffff"] });
    }),
  );
  const { user } = renderPage("/account");
  expect(await screen.findByText("Few recovery codes are left")).toBeVisible();
  expect(screen.getByText("You signed in with a recovery code")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Make new codes" }));
  const form = within(screen.getByRole("form", { name: "New recovery codes" }));
  expect(form.queryByLabelText(/^Code/)).not.toBeInTheDocument();
  await user.type(form.getByLabelText(/^Your password/), "right");
  await user.click(form.getByRole("button", { name: "Make new codes" }));
  expect(await screen.findByText(/eeeee-fffff/)).toBeVisible();
  expect(screen.getByText("Each signs you in once in place of the second factor. Left: 10.")).toBeVisible();
  expect(screen.queryByText("Few recovery codes are left")).not.toBeInTheDocument();
  expect(sent).toEqual([{ password: "right", code: "" }]);
});
