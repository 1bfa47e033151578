// SPDX-License-Identifier: Apache-2.0
// Limits of users on the page of quotas: shown with what is used; admins set them for everyone and for one person.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { UserQuota, UserQuotaPatch } from "@/api/types";
import { asTypes } from "@/features/quotas/nodes/typesText";
import { renderPage } from "@/testing/render";
import { quota, quotaOwner, userQuota } from "@/testing/schedulingFixtures";
import { answers, page, problem, server } from "@/testing/server";

const EVERYONE = userQuota({ id: "00000000-0000-7000-8000-0000000000e0", user: null, used: null, max_gpus: 2, version: 5 });

const PROSPECT = { mode: "", n_workers: 1, n_servers: 0, start_at: null, finish_at: null, finish_p90_at: null };
const EFFECT = {
  ...{ id: "00000000-0000-7000-8000-0000000000f9", name: "long", role: "other" },
  before: { ...PROSPECT, decision: "keep", explanations: [] },
  after: { ...PROSPECT, decision: "preempt", explanations: [] },
  ...{ start_delta_s: null, finish_delta_s: null },
};
const WHAT_IF = { policy: "mlhub", as_of: "", decide_ms: 1, n_jobs: 2, basis: "", effects: [EFFECT], overcommitted: [], below_use: [], stop_grace_s: 30 };

function serve(limits: UserQuota[], may_edit: boolean) {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/organisations/{id}/quota-tree", { may_edit, owners: [quotaOwner()] }),
    answers("/api/v1/projects/{id}/quota/users", { may_edit, limits }),
  );
}

/** The API finds bob by an address that no answer shows. */
function membersFound(request: Request) {
  const search = new URL(request.url).searchParams.get("search");
  const named = (username: string) => ({ id: username, user: { id: username, username }, role: "member", created_at: "2026-11-22T10:00:00Z" });
  return search === null ? [named("ann")] : search === "bob@uni" ? [named("bob")] : [];
}

async function opened() {
  const { user } = renderPage("/quotas");
  await user.click(await screen.findByRole("button", { name: "Limits of users in Vision" }));
  return { user, section: await screen.findByRole("region", { name: "Limits of users in Vision" }) };
}

it("shows everyone's limits and each exception with what is used of it", async () => {
  serve([EVERYONE, userQuota({ gpus_by_type: { A100: 2 } })], false);
  const { section } = await opened();
  expect(within(section).getByRole("list", { name: "Limits of everyone" })).toHaveTextContent("GPUs2");
  const own = within(section).getByRole("list", { name: "Limits of bob" });
  expect(own).toHaveTextContent("1 of 4");
  expect(own).toHaveTextContent("GPUs of type A1000 of 2");
  expect(within(section).queryByRole("button")).not.toBeInTheDocument();
});

it("limits one more person, beginning with what holds for everyone", async () => {
  const received: UserQuotaPatch[] = [];
  serve([EVERYONE], true);
  server.use(
    http.get("/api/v1/organisations/:id/members", ({ request }) => HttpResponse.json(page(membersFound(request)))),
    http.patch("/api/v1/projects/:id/quota/users", async ({ request }) => {
      received.push((await request.json()) as UserQuotaPatch);
      return HttpResponse.json(userQuota());
    }),
  );
  const { user, section } = await opened();
  await user.click(within(section).getByRole("button", { name: "Limit one person" }));
  const form = await screen.findByRole("form", { name: "Limits of one person in Vision" });
  expect(within(form).getByLabelText("GPUs")).toHaveValue("2");
  expect(within(form).queryByLabelText("Storage (GiB)")).not.toBeInTheDocument();
  await user.type(within(form).getByRole("combobox", { name: "Person" }), "bob@uni");
  await user.click(await screen.findByRole("option", { name: "bob" }));
  await user.type(within(form).getByLabelText("GPUs by type"), "A100: 2, T4");
  expect(within(form).getByRole("button", { name: "Save" })).toBeDisabled();
  await user.type(within(form).getByLabelText("GPUs by type"), ": 4");
  await user.type(within(form).getByLabelText("Memory (GiB)"), "64");
  await user.click(within(form).getByRole("button", { name: "Save" }));
  const limits = { gpus_by_type: { A100: 2, T4: 4 }, max_memory_bytes: 64 * 1024 ** 3 };
  await waitFor(() => expect(received).toEqual([{ username: "bob", version: 0, ...limits }]));
});

it("shows what changed limits would do to jobs, and saves nothing", async () => {
  const asked: unknown[] = [];
  serve([EVERYONE], true);
  server.use(
    http.post("/api/v1/what-if", async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(WHAT_IF);
    }),
  );
  const { user, section } = await opened();
  await user.click(within(section).getByRole("button", { name: "Change the limits of everyone" }));
  const form = await screen.findByRole("form", { name: "Limits of one person in Vision" });
  expect(within(form).getByRole("button", { name: "What would happen?" })).toBeDisabled();
  await user.clear(within(form).getByLabelText("GPUs"));
  await user.type(within(form).getByLabelText("GPUs"), "1");
  await user.click(within(form).getByRole("button", { name: "What would happen?" }));
  expect(await within(form).findByRole("status")).toHaveTextContent("1 running job gives GPUs back.");
  expect(asked).toEqual([{ user_quotas: [{ max_gpus: 1, username: null, project: quotaOwner().id }] }]);
  await user.type(within(form).getByLabelText("GPUs"), "2");
  expect(within(form).queryByRole("status")).not.toBeInTheDocument();
});

it("shows both versions when another admin was first, and saves over theirs on request", async () => {
  const versions: (number | undefined)[] = [];
  serve([EVERYONE], true);
  server.use(
    http.patch("/api/v1/projects/:id/quota/users", async ({ request }) => {
      const body = (await request.json()) as UserQuotaPatch;
      versions.push(body.version);
      if (body.version === 6) return HttpResponse.json(EVERYONE);
      const both = { present: { max_gpus: 9 }, yours: { max_gpus: 23 }, version: 6 };
      return problem(409, { code: "stale_version", detail: "Another admin changed these limits meanwhile.", ...both });
    }),
  );
  const { user, section } = await opened();
  await user.click(within(section).getByRole("button", { name: "Change the limits of everyone" }));
  const form = await screen.findByRole("form", { name: "Limits of one person in Vision" });
  await user.type(within(form).getByLabelText("GPUs"), "3");
  await user.click(within(form).getByRole("button", { name: "Save" }));
  const conflict = await screen.findByRole("alert");
  expect(conflict).toHaveTextContent("923");
  await user.click(within(conflict).getByRole("button", { name: "Save mine over them" }));
  expect(await screen.findByText("The limits of everyone in Vision are saved.")).toBeVisible();
  expect(versions).toEqual([5, 6]);
});

it("removes an exception, in the version on screen", async () => {
  let asked = "";
  serve([EVERYONE, userQuota()], true);
  server.use(
    http.delete("/api/v1/user-quotas/:id", ({ request }) => {
      asked = new URL(request.url).search;
      return new HttpResponse(null, { status: 204 });
    }),
  );
  const { user, section } = await opened();
  await user.click(within(section).getByRole("button", { name: "Remove the limits of bob" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Remove the limits of bob?" }));
  expect(dialog.getByText(/Those of everyone hold for bob/)).toBeVisible();
  expect(asked).toBe("");
  await user.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(asked).toBe("?version=2"));
});

it("shows one's own limits on Home", async () => {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/cluster", { racks: [], backend: { away_since: null } }),
    answers("/api/v1/user-quotas/mine", [userQuota({ max_running_jobs: 3, max_cpus: 8 })]),
  );
  renderPage("/");
  const own = await screen.findByRole("region", { name: "Your own limits in Vision" });
  expect(own).toHaveTextContent("GPUs1 of 4");
  expect(own).toHaveTextContent("CPUs2 of 8");
  expect(own).toHaveTextContent("Running jobs1 of 3");
});

it("shows on Home the limits of an owner that are nearest to their end", async () => {
  server.use(
    answers("/api/v1/organisations/{id}/quota", quota()),
    answers("/api/v1/cluster", { racks: [], backend: { away_since: null } }),
    answers("/api/v1/user-quotas/mine", [
      userQuota({ gpus_by_type: { K80: 2, P100: 2, V100: 2, A100: 0 }, max_waiting_jobs: 9, max_running_jobs: 2 }),
    ]),
  );
  renderPage("/");
  const own = within(await screen.findByRole("region", { name: "Your own limits in Vision" }));
  const rows = own.getAllByRole("listitem").map(({ textContent }) => textContent);
  expect(rows).toEqual(["GPUs of type A1000 of 0", "Running jobs1 of 2", "GPUs1 of 4", "GPUs of type K800 of 2", "and 3 more, used less"]);
});

it("reads types with numbers, and nothing else", () => {
  expect(asTypes("A100: 2, RTX 4090:1")).toEqual({ A100: 2, "RTX 4090": 1 });
  expect(asTypes("")).toEqual({});
  expect(asTypes("A100")).toBeNull();
  expect(asTypes("A100: -1")).toBeNull();
});
