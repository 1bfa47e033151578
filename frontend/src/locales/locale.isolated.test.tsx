// SPDX-License-Identifier: Apache-2.0
// The language: chosen here, else the browser's, else English; pages that are loaded afterwards speak it.
import { i18n } from "@lingui/core";
import { screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import { activateLocale, preferredLocale } from "@/locales/locale";

afterEach(() => localStorage.clear());

it.each([
  [["de", "zh-TW", "en"], "zh-CN"],
  [["de", "en-GB", "zh"], "en"],
  [["de"], "en"],
])("follows the browser's languages %s", (languages, expected) => {
  vi.spyOn(navigator, "languages", "get").mockReturnValue(languages);
  expect(preferredLocale()).toBe(expected);
});

it("prefers what was chosen before, unless it is no language of the dashboard", () => {
  vi.spyOn(navigator, "languages", "get").mockReturnValue(["en"]);
  localStorage.setItem("mlhub-locale", "zh-CN");
  expect(preferredLocale()).toBe("zh-CN");
  localStorage.setItem("mlhub-locale", "constructor");
  expect(preferredLocale()).toBe("en");
});

it("shows pages, dates and counts in Chinese", async () => {
  vi.resetModules();
  await activateLocale("zh-CN");
  const { renderPage } = await import("@/testing/render");
  renderPage("/tokens");
  expect(await screen.findByRole("link", { name: "数据集" })).toBeInTheDocument();
  expect(await screen.findByRole("heading", { name: "API 令牌", level: 1 })).toBeInTheDocument();
  expect(document.documentElement.lang).toBe("zh-CN");
  const { duration } = await import("@/lib/time");
  expect(duration(65)).toBe("1 分 05 秒");
  i18n.loadAndActivate({ locale: "en", messages: {} });
  expect(duration(65)).toBe("1 min 05 s");
});
