// SPDX-License-Identifier: Apache-2.0
// The page of a dataset of files of any kind.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { dataset, datasetVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

it("lists the kinds of files and the first ones by name", async () => {
  const version = datasetVersion({
    format: "files",
    schema: { task: "files", n_files: 3, n_bytes: 4097 },
    preview: {
      kind: "files",
      files: [{ name: "audio/1.wav", size_bytes: 2048 }],
      n_files: 3,
      suffixes: [
        { suffix: ".wav", n_files: 2, size_bytes: 4096 },
        { suffix: "", n_files: 1, size_bytes: 1 },
      ],
    },
  });
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: version })),
    answers("/api/v1/datasets/{id}/versions", page([version])),
    answers("/api/v1/dataset-versions/{id}", version),
  );
  renderPage(`/datasets/${dataset().id}`);
  const preview = await screen.findByRole("region", { name: "Preview" });
  expect(within(preview).getByRole("list", { name: "Kinds of files" })).toHaveTextContent(/\.wav 2, .*no suffix 1, /);
  expect(within(preview).getByText("audio/1.wav")).toBeVisible();
  expect(within(preview).getByText("and 2 more files")).toBeVisible();
  expect(screen.getByText("Files, for scripts and notebooks")).toBeVisible();
});
