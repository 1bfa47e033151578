// SPDX-License-Identifier: Apache-2.0
// A dataset that the platform fetches from an address: how it is asked for, and what a refusal says.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";

import type { Dataset } from "@/api/types";
import { dataset, datasetVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

describe("A dataset from an address", () => {
  const SOURCE = {
    uri: "https://example.org/data/iris.csv",
    n_shards: null,
    sha256: "",
    etag: "",
    endpoint: "",
    region: "",
    secrets: {},
    refresh_of: null,
    found: {},
    progress: { fetched_bytes: 1024, total_bytes: 4096 },
  };
  const FETCHING = datasetVersion({ state: "fetching", files: [], schema: {}, preview: null, source: SOURCE });

  it("is asked for by its address alone, and shows how far its fetch is", async () => {
    const sent: unknown[] = [];
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets/references", async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json<Dataset>(dataset({ latest_version: FETCHING }), { status: 201 });
      }),
      answers("/api/v1/datasets/{id}", dataset({ latest_version: FETCHING })),
      answers("/api/v1/datasets/{id}/versions", page([FETCHING])),
      answers("/api/v1/dataset-versions/{id}", FETCHING),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.selectOptions(within(dialog).getByLabelText("Where the file is"), "At an address");
    await user.type(await within(dialog).findByLabelText("Address"), SOURCE.uri);
    await user.type(within(dialog).getByLabelText("Target column"), "species");
    await user.type(within(dialog).getByLabelText("Secret with a token"), "HF_TOKEN");
    expect(within(dialog).getByLabelText("Name")).toHaveValue("iris");
    await user.click(within(dialog).getByRole("button", { name: "Fetch" }));

    expect(await screen.findByText("MLHub is fetching the file")).toBeVisible();
    expect(screen.getByText(/1 KiB of 4 KiB/)).toBeVisible();
    expect(sent).toEqual([
      {
        name: "iris",
        project: expect.any(String) as string,
        target: "species",
        source: { uri: SOURCE.uri, secrets: { token: "HF_TOKEN" } },
      },
    ]);
  });

  it("is of many shards when there is an address a line, and shows each shard with what was found", async () => {
    const sent: unknown[] = [];
    const shards = { ...SOURCE, uri: "", n_shards: 2, progress: { fetched_bytes: 2048, total_bytes: null, n_fetched: 1, n_files: 2 } };
    const fetching = datasetVersion({ ...FETCHING, source: shards });
    const shard = { uri: "https://example.org/a.tar", name: "a.tar", sha256: "", etag: "", stored: "ab", size_bytes: 2048, found: { etag: '"7"', is_changed: true } };
    server.use(
      answers("/api/v1/datasets", page<Dataset>([])),
      http.post("/api/v1/datasets/references", async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json<Dataset>(dataset({ latest_version: fetching }), { status: 201 });
      }),
      answers("/api/v1/datasets/{id}", dataset({ latest_version: fetching })),
      answers("/api/v1/datasets/{id}/versions", page([fetching])),
      answers("/api/v1/dataset-versions/{id}", fetching),
      http.get("/api/v1/dataset-versions/:id/shards", ({ request }) => {
        const isSecond = new URL(request.url).searchParams.get("cursor") === "1";
        const last = { ...shard, name: "b.tar", stored: "", size_bytes: null, found: {} };
        return HttpResponse.json(isSecond ? page([last]) : { ...page([shard]), next: "https://mlhub.test/shards?cursor=1" });
      }),
    );
    const { user } = renderPage("/datasets");
    await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
    const dialog = await screen.findByRole("dialog");
    await user.selectOptions(within(dialog).getByLabelText("Where the file is"), "At an address");
    const address = await within(dialog).findByLabelText("Address");
    await user.type(address, "https://example.org/train-{{000..009}.tar");
    expect(within(dialog).getByLabelText("Name")).toHaveValue("train");
    expect(within(dialog).queryByLabelText("SHA-256")).not.toBeInTheDocument();
    await user.clear(address);
    await user.type(address, "https://example.org/a.tar{enter}https://example.org/b.tar");
    await user.click(within(dialog).getByRole("button", { name: "Fetch" }));

    expect(await screen.findByText(/1 of 2 shards, 2 KiB/)).toBeVisible();
    expect(sent).toMatchObject([{ name: "a", source: { shards: [{ uri: "https://example.org/a.tar" }, { uri: "https://example.org/b.tar" }] } }]);
    expect(await screen.findByRole("row", { name: /a.tar 2 KiB "7" changed/ })).toBeVisible();
    expect(screen.getByText("1 of 2")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Show more" }));
    expect(await screen.findByRole("row", { name: /b.tar not fetched yet/ })).toBeVisible();
  });

  it("says what the API refuses at the address, and what a refused fetch needs", async () => {
    const message = "The address 10.0.0.8 is not a public one.";
    const error = { field: "source.etag", message: "It is another file.", remedy: "Fetch it without an entity tag." };
    const refused = datasetVersion({ ...FETCHING, state: "refused", source: { ...SOURCE, progress: null }, error });
    server.use(
      answers("/api/v1/datasets/{id}", dataset({ latest_version: refused })),
      answers("/api/v1/datasets/{id}/versions", page([refused])),
      answers("/api/v1/dataset-versions/{id}", refused),
      http.post("/api/v1/datasets/:id/references", () =>
        problem(422, { title: "Refused", detail: message, errors: [{ field: "source.uri", message }] }),
      ),
      http.post("/api/v1/dataset-versions/:id/refresh", () =>
        HttpResponse.json(problemBody("A version is being fetched."), { status: 409 }),
      ),
    );
    const { user } = renderPage(`/datasets/${dataset().id}`);
    expect(await screen.findByText("What is at this address was refused")).toBeVisible();
    expect(screen.getByText(/Fetch it without an entity tag/)).toBeVisible();
    await user.click(await screen.findByRole("button", { name: "Look at the address again" }));
    expect(await screen.findByText("A version is being fetched.")).toBeVisible();

    await user.click(screen.getByRole("button", { name: "Upload a new version" }));
    const dialog = await screen.findByRole("dialog");
    await user.selectOptions(within(dialog).getByLabelText("Where the file is"), "At an address");
    await user.type(await within(dialog).findByLabelText("Address"), "https://10.0.0.8/x.csv");
    await user.click(within(dialog).getByRole("button", { name: "Fetch" }));
    expect(await within(dialog).findAllByText(message)).toHaveLength(1);
  });
});

function problemBody(detail: string) {
  return { status: 409, title: "Conflict", code: "not_ready", detail };
}
