// SPDX-License-Identifier: Apache-2.0
// A choice from a list of any length: what is typed is searched for by the API, and what was chosen stays.
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { dataset, model } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const ID = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const MANY = Array.from({ length: 3000 }, (_, n) => dataset({ id: ID(n), name: `set-${String(n).padStart(4, "0")}` }));

function serve(asked: string[]) {
  server.use(
    answers("/api/v1/models", page([model()])),
    http.get("/api/v1/datasets", ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(query.get("search") ?? "");
      const found = MANY.filter(({ name }) => name.includes(query.get("search") ?? ""));
      const results = found.slice(0, Number(query.get("limit")));
      return HttpResponse.json({ next: results.length < found.length ? "http://x/?cursor=1" : null, previous: null, results });
    }),
    http.get("/api/v1/datasets/:id", ({ params }) => {
      asked.push(String(params["id"]));
      return HttpResponse.json(MANY.find(({ id }) => id === params["id"]));
    }),
  );
}

it("finds one of 3,000 datasets by a part of its name, and keeps it", async () => {
  const asked: string[] = [];
  serve(asked);
  const { user } = renderPage("/studies/new");
  const field = await screen.findByRole("combobox", { name: "Dataset" });
  expect(screen.getByText("There are more than are shown: type a part of the name.")).toBeVisible();
  await user.click(field);
  await user.clear(field);
  await user.type(field, "2718");
  await user.click(await screen.findByRole("option", { name: /set-2718/ }));
  expect(asked.at(-1)).toBe("2718");
  expect(field).toHaveValue(`set-2718 (${MANY[0]?.project.name})`);
});

it("reads one that a link names and the list does not begin with", async () => {
  const asked: string[] = [];
  serve(asked);
  renderPage(`/jobs/new?dataset=${ID(2999)}`);
  const field = await screen.findByRole("combobox", { name: "Dataset" });
  await expect.poll(() => (field as HTMLInputElement).value).toMatch(/^set-2999/);
  expect(asked.filter((one) => one !== "")).toEqual([ID(2999)]);
});
