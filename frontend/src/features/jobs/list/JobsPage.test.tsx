// SPDX-License-Identifier: Apache-2.0
// The list of jobs, as its reader sees it.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const table = async () => within(await screen.findByRole("table", { name: "Jobs" }));

it("shows where each job stands, and why a waiting one waits", async () => {
  const waiting = job({
    id: "w",
    name: "second",
    state: "queued",
    current_attempt: null,
    progress: 0,
    explanations: [
      { reason: "no_free_gpus", sentence: "All 4 GPUs are in use; it needs 2.", facts: {} },
      { reason: "quota_gpus", sentence: "Not the first reason.", facts: {} },
    ],
  });
  server.use(answers("/api/v1/jobs", page([job({ progress: 0.2 }), waiting])));
  renderPage("/jobs");
  const rows = (await table()).getAllByRole("row").slice(1);
  expect(rows).toHaveLength(2);
  const [first, second] = rows.map((row) => within(row));
  expect(first?.getByRole("link", { name: "digits-cnn" })).toHaveAttribute("href", `/jobs/${job().id}`);
  expect(first?.getByText("Running")).toBeInTheDocument();
  expect(first?.getByText("All-reduce · 2 workers")).toBeInTheDocument();
  expect(first?.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "20");
  expect(second?.getByText("Automatic · 1–4 workers")).toBeInTheDocument();
  expect(second?.getByText("All 4 GPUs are in use; it needs 2.")).toBeInTheDocument();
  expect(second?.queryByText("Not the first reason.")).not.toBeInTheDocument();
});

it("asks for one state only, and remembers that in the address", async () => {
  const asked: (string | null)[] = [];
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      asked.push(new URL(request.url).searchParams.get("state"));
      return HttpResponse.json(page([job()]));
    }),
  );
  const { user, router } = renderPage("/jobs?cursor=abc");
  await table();
  await user.selectOptions(screen.getByRole("combobox", { name: "State" }), "Failed");
  await expect.poll(() => asked.at(-1)).toBe("failed");
  expect(router.state.location.search).toBe("?state=failed");
});

it("turns to older jobs by the API's cursor", async () => {
  server.use(
    http.get("/api/v1/jobs", ({ request }) => {
      const isSecond = new URL(request.url).searchParams.get("cursor") === "two";
      const next = isSecond ? null : "http://testserver/api/v1/jobs?cursor=two&limit=25";
      return HttpResponse.json({ ...page([job({ name: isSecond ? "older" : "newer" })]), next });
    }),
  );
  const { user } = renderPage("/jobs");
  expect((await table()).getByText("newer")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Older" }));
  expect(await (await table()).findByText("older")).toBeInTheDocument();
});

it("says what to do first when there is no job", async () => {
  server.use(answers("/api/v1/jobs", page([])));
  renderPage("/jobs");
  expect(await screen.findByText(/First upload a dataset/)).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "Upload a dataset" })).toHaveAttribute("href", "/datasets");
});
