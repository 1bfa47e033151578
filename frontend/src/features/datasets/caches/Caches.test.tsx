// SPDX-License-Identifier: Apache-2.0
// On which nodes a version of a dataset is cached.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { dataset, datasetVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const NOTHING = { has_node_caches: true, size_bytes: 1000, nodes: [], n_nodes: 0, n_starts: 0, inputs_bytes: 0, found_bytes: 0 };

function shown(caches: Partial<typeof NOTHING> & object) {
  const version = datasetVersion();
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: version })),
    answers("/api/v1/datasets/{id}/versions", page([version])),
    answers("/api/v1/dataset-versions/{id}", version),
    answers("/api/v1/dataset-versions/{id}/caches", { ...NOTHING, ...caches }),
  );
  renderPage(`/datasets/${dataset().id}`);
  return screen.findByRole("region", { name: "Caches" });
}

it("names the nodes that hold it, and the hit rate", async () => {
  const nodes = [{ name: "lab-2", cached_bytes: 500, used_at: "2026-03-02T09:00:00Z" }];
  const region = await shown({ nodes, n_nodes: 1, n_starts: 4, inputs_bytes: 4000, found_bytes: 3000 } as object);
  expect((await within(region).findByText("lab-2")).closest("tr")).toHaveTextContent("500 B (50 %)");
  expect(within(region).getByText(/^Hit rate: 75 % of the 3.9 KiB that 4 starts needed/)).toBeVisible();
});

it("says how many more there are than it lists", async () => {
  const nodes = [{ name: "lab-2", cached_bytes: 500, used_at: "2026-03-02T09:00:00Z" }];
  const region = await shown({ nodes, n_nodes: 1000 } as object);
  expect(await within(region).findByText("1,000 nodes hold some of it; those with most of it are listed.")).toBeVisible();
});

it("says so where no node holds it", async () => {
  const region = await shown({});
  expect(await within(region).findByText("No node is known to hold it: the next job fetches it.")).toBeVisible();
  expect(within(region).queryByRole("table")).toBeNull();
});

it("says so where nodes have no caches of their own", async () => {
  const region = await shown({ has_node_caches: false });
  expect(await within(region).findByText(/^Nodes have no caches of their own/)).toBeVisible();
});
