// SPDX-License-Identifier: Apache-2.0
// Which pages are offered to whom, and under which heading.
import { render, screen, within } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { describe, expect, it } from "vitest";

import { Providers } from "@/app/Providers";
import { createQueryClient } from "@/app/queries/queryClient";
import { shellRoute } from "@/app/router";
import { ACME, me } from "@/testing/fixtures";
import { answers, server } from "@/testing/server";

async function groups(): Promise<Record<string, (string | null)[]>> {
  const router = createMemoryRouter([shellRoute([{ path: "jobs/:id", element: <h1>A job</h1> }])], {
    initialEntries: ["/jobs/7"],
  });
  render(
    <Providers queries={createQueryClient({ retries: 0 })} isTest>
      <RouterProvider router={router} />
    </Providers>,
  );
  const navigation = await screen.findByRole("navigation", { name: "Main" });
  const found = within(navigation).getAllByRole("group");
  const links = (group: HTMLElement) => within(group).getAllByRole("link").map(({ textContent }) => textContent);
  return Object.fromEntries(found.map((group) => [String(group.getAttribute("aria-label")), links(group)]));
}

describe("The navigation", () => {
  it("offers members the pages that are of use to them, in groups", async () => {
    expect(await groups()).toEqual({
      Work: ["Home", "Jobs", "Studies", "Runs", "Datasets", "Models", "Environments"],
      Cluster: ["Queue", "Cluster", "Timeline"],
      Administration: ["Members", "Quotas", "Usage"],
    });
    expect(screen.getByRole("link", { current: "page" })).toHaveTextContent("Jobs");
  });

  it("offers owners what they answer for", async () => {
    server.use(answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role: "owner" }] })));
    expect((await groups()).Administration).toEqual(["Members", "Quotas", "Usage", "Webhooks", "Audit"]);
  });

  it("offers administrators of the platform the scheduler and the users", async () => {
    server.use(answers("/api/v1/auth/me", me({ is_staff: true })));
    const found = await groups();
    expect(found.Cluster).toContain("Scheduler");
    expect(found.Administration).toContain("Users");
  });
});
