// SPDX-License-Identifier: Apache-2.0
// Links to the parts of a page: in the order of the page, whenever a part appears or goes.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("lists the cards of a job's page in their order, each with its link", async () => {
  const shown = jobDetail();
  server.use(
    answers("/api/v1/jobs/{id}", shown),
    answers("/api/v1/jobs/{id}/metrics/names", { names: [], next: null }),
    answers("/api/v1/jobs/{id}/events", page([])),
  );
  renderPage(`/jobs/${shown.id}`);
  const links = async () => within(await screen.findByRole("navigation", { name: "On this page" })).queryAllByRole("link");
  await expect.poll(async () => (await links()).map(({ textContent }) => textContent)).toContain("Scheduling decisions");
  const titles = (await links()).map(({ textContent }) => textContent);
  const cards = [...document.querySelectorAll("section[id]")].map((card) => card.getAttribute("aria-label"));
  expect(titles).toEqual(cards);
  expect(new Set(titles).size).toBe(titles.length);
  expect(screen.getByRole("link", { name: "Scheduling decisions" })).toHaveAttribute("href", "#scheduling-decisions");
  expect(document.getElementById("scheduling-decisions")).toHaveAccessibleName("Scheduling decisions");
});
