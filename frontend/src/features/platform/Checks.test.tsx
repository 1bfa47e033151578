// SPDX-License-Identifier: Apache-2.0
// The checks of the installation: run on demand, each with its state, its meaning and its remedy.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";

import type { PlatformCheck } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, problem, server } from "@/testing/server";

const PATH = "*/api/v1/platform/checks";
const CHECKS: PlatformCheck[] = [
  { name: "database", state: "ok", meaning: "It keeps everything.", detail: "Answers in 3 ms.", remedy: "" },
  { name: "disk", state: "problem", meaning: "Datasets grow on it.", detail: "0.4 GiB are free.", remedy: "Free 5 GiB there." },
  { name: "gpus", state: "unknown", meaning: "Pods train on them.", detail: "It has not answered for 15 s.", remedy: "Run it there." },
];

describe("The checks of the platform", () => {
  beforeEach(() => server.use(answers("/api/v1/auth/me", me({ is_staff: true }))));

  it("run when they are asked for, and say what was found and what to do", async () => {
    let n = 0;
    server.use(
      http.post(PATH, () => {
        n += 1;
        return HttpResponse.json({ checks: n === 1 ? CHECKS : CHECKS.slice(0, 1) });
      }),
    );
    const { user } = renderPage("/platform");
    const button = await screen.findByRole("button", { name: "Run checks" });
    expect(n).toBe(0);
    await user.click(button);
    expect(await screen.findByText("2 of 3 need attention.")).toBeVisible();
    const row = within(screen.getByRole("row", { name: /^Disk/ }));
    for (const text of ["Problem", "0.4 GiB are free.", "Free 5 GiB there.", "Datasets grow on it."]) expect(row.getByText(text)).toBeVisible();
    expect(within(screen.getByRole("row", { name: /^GPUs/ })).getByText("Not known")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Run again" }));
    expect(await screen.findByText("Everything is in order.")).toBeVisible();
  });

  it("say why they could not be run, and leave the rest of the page", async () => {
    server.use(http.post(PATH, () => problem(503, { title: "Busy", detail: "Try again later." })));
    const { user } = renderPage("/platform");
    await user.click(await screen.findByRole("button", { name: "Run checks" }));
    expect(await screen.findByText("Try again later.")).toBeVisible();
    expect(screen.getByText("No announcements")).toBeVisible();
  });
});
