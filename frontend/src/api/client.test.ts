// SPDX-License-Identifier: Apache-2.0
// Requests ask for the language of the page, whatever the browser's own is.
import { i18n } from "@lingui/core";
import { http, HttpResponse } from "msw";
import { afterEach, expect, it } from "vitest";

import { api, unwrap } from "@/api/client";
import { page, server } from "@/testing/server";

afterEach(() => i18n.activate("en"));

it.each(["en", "zh-CN"])("asks for texts of the platform in the language of the page: %s", async (locale) => {
  let asked: string | null = null;
  server.use(
    http.get("/api/v1/projects", ({ request }) => {
      asked = request.headers.get("Accept-Language");
      return HttpResponse.json(page([]));
    }),
  );
  i18n.loadAndActivate({ locale, messages: {} });
  await unwrap(api.GET("/api/v1/projects"));
  expect(asked).toBe(locale);
});
