// SPDX-License-Identifier: Apache-2.0
// Rate limits as the dashboard meets them: it waits as long as it is asked to, and says it when that takes long.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { api, Problem, unwrap } from "@/api/client";
import { renderPage } from "@/testing/render";
import { page, server } from "@/testing/server";

const REFUSAL = {
  title: "Rate limited",
  status: 429,
  code: "rate_limited",
  detail: "Too many requests: one user may send 2,400 reads requests in 60 s.",
  remedy: "Wait 40 s, then send it again.",
};

function tooMany(retryAfter: string) {
  return HttpResponse.json(REFUSAL, { status: 429, headers: { "Retry-After": retryAfter } });
}

it("sends a request again that came too soon, with its body", async () => {
  const bodies: unknown[] = [];
  server.use(
    http.post("/api/v1/projects", async ({ request }) => {
      bodies.push(await request.json());
      return bodies.length < 3 ? tooMany("0") : HttpResponse.json({ id: "p" }, { status: 201 });
    }),
  );
  const body = { name: "vision", organisation: "00000000-0000-0000-0000-000000000001", team: null };
  expect(await unwrap(api.POST("/api/v1/projects", { body }))).toEqual({ id: "p" });
  expect(bodies).toEqual([body, body, body]);
});

it("gives up after some tries", async () => {
  let tries = 0;
  server.use(
    http.get("/api/v1/projects", () => {
      tries += 1;
      return tooMany("0");
    }),
  );
  await expect(unwrap(api.GET("/api/v1/projects"))).rejects.toThrow(Problem);
  expect(tries).toBe(4);
});

it("ends a wait when the request is cancelled", async () => {
  const cancel = new AbortController();
  server.use(
    http.get("/api/v1/projects", () => {
      setTimeout(() => cancel.abort());
      return tooMany("10");
    }),
  );
  await expect(unwrap(api.GET("/api/v1/projects", { signal: cancel.signal }))).rejects.toThrow("cancelled");
});

it("says how long to wait when that is long", async () => {
  server.use(
    http.get("/api/v1/datasets", () => tooMany("40")),
    http.get("/api/v1/jobs", () => HttpResponse.json(page([]))),
  );
  renderPage("/datasets");
  expect(await screen.findByText(REFUSAL.detail)).toBeVisible();
  expect(screen.getByText(REFUSAL.remedy)).toBeVisible();
});
