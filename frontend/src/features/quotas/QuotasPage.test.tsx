// SPDX-License-Identifier: Apache-2.0
// Changing quotas: only staff may, and no one overwrites what someone else has just set.
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Quota, QuotaPatch } from "@/api/types";
import { me, organisation } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { quota, quotaOwner } from "@/testing/schedulingFixtures";
import { answers, page, problem, server } from "@/testing/server";

const GIB = 1024 ** 3;

/** The API's rule: a change of an older version is refused. Returns the bodies that came. */
function serveQuota(start: Quota) {
  let present = start;
  const received: QuotaPatch[] = [];
  server.use(
    answers("/api/v1/auth/me", me({ is_staff: true })),
    http.get("/api/v1/organisations/:id/quota", () => HttpResponse.json<Quota>(present)),
    http.patch("/api/v1/organisations/:id/quota", async ({ request }) => {
      const body = (await request.json()) as QuotaPatch;
      received.push(body);
      if (body.version !== present.version) {
        return problem(409, { code: "stale", title: "Conflict", detail: "The quota was changed at 10:04 by grace." });
      }
      present = { ...present, ...body, budgets: present.budgets, version: present.version + 1 };
      return HttpResponse.json<Quota>(present);
    }),
  );
  return {
    received,
    changeMeanwhile: (over: Partial<Quota>) => (present = { ...present, ...over, version: present.version + 1 }),
  };
}

describe("Editing a quota", () => {
  it("saves only what was changed, in bytes, and with the version that was on screen", async () => {
    const { received } = serveQuota(quota());
    const { user } = renderPage("/quotas");
    const storage = await screen.findByLabelText("Storage (GiB)");
    expect(storage).toHaveValue("10");
    await user.clear(storage);
    await user.type(storage, "20");
    await user.clear(screen.getByLabelText("Running jobs"));
    await user.click(screen.getByRole("button", { name: "Save" }));

    expect(await screen.findByText("The quota is saved.")).toBeVisible();
    expect(received).toEqual([{ version: 3, max_storage_bytes: 20 * GIB, max_running_jobs: null }]);
    expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
  });

  it("counts what boosts add to the limit, and leaves it out of the field", async () => {
    serveQuota(quota({ max_gpus: 8, boosted_gpus: 2 }));
    renderPage("/quotas");
    expect(await screen.findByText("2 of 10")).toBeVisible();
    expect(screen.getByLabelText("GPUs")).toHaveValue("8");
  });

  it("shows a conflict instead of overwriting, and loads the present values on request", async () => {
    const { changeMeanwhile } = serveQuota(quota());
    const { user } = renderPage("/quotas");
    const gpus = await screen.findByLabelText("GPUs");
    await user.clear(gpus);
    await user.type(gpus, "16");
    changeMeanwhile({ max_gpus: 12 });
    await user.click(screen.getByRole("button", { name: "Save" }));

    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("Someone else changed this quota meanwhile");
    expect(alert).toHaveTextContent("The quota was changed at 10:04 by grace.");
    expect(gpus).toHaveValue("16");

    await user.click(within(alert).getByRole("button", { name: "Load the present values" }));
    await waitFor(() => expect(screen.getByLabelText("GPUs")).toHaveValue("12"));
    expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  });
});

describe("The organisation that is shown", () => {
  it("stays, with what is typed, when a newer one is first of the list", async () => {
    serveQuota(quota());
    const acme = organisation();
    let listed = [acme];
    server.use(http.get("/api/v1/organisations", () => HttpResponse.json(page(listed))));
    const { user, queries, router } = renderPage("/quotas");
    const gpus = await screen.findByLabelText("GPUs");
    await user.clear(gpus);
    await user.type(gpus, "16");
    listed = [organisation({ id: "00000000-0000-7000-8000-0000000000aa", name: "Newer" }), acme];
    await queries.invalidateQueries({ queryKey: ["organisations"] });

    expect(screen.getByLabelText("GPUs")).toHaveValue("16");
    expect(router.state.location.search).toBe(`?organisation=${acme.id}`);
  });
});

describe("People who are not staff", () => {
  it("see what their organisation uses, and no fields", async () => {
    server.use(answers("/api/v1/organisations/{id}/quota", quota()));
    renderPage("/quotas");
    const acme = await screen.findByRole("region", { name: "Acme" });
    expect(await within(acme).findByText("2 of 8")).toBeVisible();
    expect(within(acme).getByText("1 GiB of 10 GiB")).toBeVisible();
    expect(screen.queryByRole("textbox")).not.toBeInTheDocument();
  });

  it("see as outsiders the teams and projects in which they have a role", async () => {
    server.use(
      answers("/api/v1/auth/me", me({ memberships: me().memberships.map((one) => ({ ...one, role: "outsider" as const })) })),
      http.get("/api/v1/organisations/:id/quota-tree", () =>
        HttpResponse.json({ may_edit: false, editable: [], owners: [quotaOwner({ name: "Shared", above: null })] }),
      ),
    );
    renderPage("/quotas");
    expect(await screen.findByText(/You are an outsider of/)).toBeVisible();
    expect(await screen.findByText("Shared")).toBeVisible();
  });
});
