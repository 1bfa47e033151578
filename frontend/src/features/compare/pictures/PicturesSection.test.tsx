// SPDX-License-Identifier: Apache-2.0
// Settings against results: axes and scales, which the address has, and how much each setting matters.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { textOfList, textOfPairs } from "@/components/chart/address/useSetting";
import { IMPORTANCE, JOBS, compared } from "@/testing/comparedAnswers";
import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { server } from "@/testing/server";

it("has logarithmic axes for what spans more than two decades, and linear ones where somebody wants these", async () => {
  compared([...JOBS, job({ id: "c", name: "tiny", hyperparameters: { lr: 0.00001, momentum: 0.5 } })]);
  const { user, router } = renderPage("/compare?jobs=a,b,c");
  const lr = await screen.findByRole("button", { name: "lr, log" });
  expect(lr).toHaveAttribute("aria-pressed", "true");
  expect(await screen.findByRole("switch", { name: "Logarithmic across" })).toBeChecked();
  expect(screen.getByRole("button", { name: "momentum, log" })).toHaveAttribute("aria-pressed", "false");
  await user.click(lr);
  expect(new URLSearchParams(router.state.location.search).get("scales")).toBe("lr:linear");
  expect(screen.getByRole("switch", { name: "Logarithmic across" })).not.toBeChecked();
  await user.click(screen.getByRole("switch", { name: "Logarithmic across" }));
  expect(router.state.location.search).not.toContain("scales");
});

it("takes its axes, ranges and scales from the address, whatever letters the names have", async () => {
  const names = ["lr,0:1", "momentum"];
  compared(JOBS.map((each, n) => ({ ...each, hyperparameters: { "lr,0:1": 1 + n, momentum: n } })));
  const query = new URLSearchParams({
    jobs: "a,b",
    axes: textOfList(names),
    scales: textOfPairs(new Map([["lr,0:1", "log"]])),
    keep: textOfPairs(new Map([["lr,0:1", "1~1.5"]])),
  });
  const { user, router } = renderPage(`/compare?${query.toString()}`);
  expect(await screen.findByText("1 of 2 lines kept")).toBeVisible();
  expect(screen.getByRole("img", { name: "2 lines over lr,0:1, momentum" })).toBeVisible();
  expect(screen.getByRole("button", { name: "lr,0:1, log" })).toHaveAttribute("aria-pressed", "true");
  expect(await screen.findByRole("img", { name: /of 1 jobs by/ })).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Keep all lines" }));
  expect(router.state.location.search).not.toContain("keep");
});

it("draws one number against another first, also where jobs differ in results alone", async () => {
  const results = [0.5, 0.25].map((loss, index) => ({ "eval/loss": loss, "train/loss": index + 1 }));
  compared(results.map((result_metrics, index) => job({ id: "ab"[index] ?? "", name: `job ${index}`, result_metrics, state: "succeeded" })));
  renderPage("/compare?jobs=a,b");
  const across: HTMLSelectElement = await screen.findByLabelText("Across");
  expect(screen.getByLabelText<HTMLSelectElement>("Up").value).not.toBe(across.value);
});

it("says how much each setting matters for the result that is chosen, and that more jobs are needed", async () => {
  let measured = IMPORTANCE;
  const asked: unknown[] = [];
  compared(JOBS.map((each, n) => ({ ...each, gpu_hours: n })));
  server.use(
    http.post("/api/v1/jobs/compare/importance", async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(measured);
    }),
  );
  const { user } = renderPage("/compare?jobs=a,b");
  const section = within(await screen.findByRole("region", { name: "Importance" }));
  expect(await section.findByText(/^81 %/)).toHaveTextContent("81 % · correlation -0.9");
  expect(asked).toContainEqual({ results: [0.7, 0.3], parameters: { lr: [0.001, 0.1] } });
  expect(section.getByText(/Interactions are not seen. By 12 jobs or runs/)).toBeVisible();
  measured = { ...IMPORTANCE, n_rows: 2, parameters: [] };
  await user.selectOptions(section.getByRole("combobox", { name: "For the result" }), "GPU-hours");
  expect(await section.findByText("Needs 10 jobs or runs with this result; there are 2.")).toBeVisible();
});

it("lays out the list of axes once it is opened, not while one scrolls past it", async () => {
  compared();
  const { user } = renderPage("/compare?jobs=a,b");
  const axes = await screen.findByRole("combobox", { name: "Axes" });
  expect(document.querySelector("[role=listbox]")).toBeNull();
  await user.click(axes);
  expect(await screen.findByRole("listbox")).toBeInTheDocument();
});

it("gives each picture a menu with its numbers, too", async () => {
  compared(JOBS.map((each, n) => ({ ...each, hyperparameters: { lr: 1 + n, momentum: n } })));
  const { user } = renderPage("/compare?jobs=a,b");
  for (const name of ["Parallel coordinates", "Scatter plot"]) {
    await user.click(await screen.findByRole("button", { name: `Save or link: ${name}` }));
    expect(await screen.findByRole("menuitem", { name: "Save as CSV" })).toBeInTheDocument();
    await user.keyboard("{Escape}");
  }
});
