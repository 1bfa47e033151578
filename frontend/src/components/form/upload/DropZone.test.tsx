// SPDX-License-Identifier: Apache-2.0
import { createEvent, fireEvent, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { renderPage } from "@/testing/render";

const FILE = new File(["x,y\n1,2\n"], "table.csv", { type: "text/csv" });
const WORDS = "Drop a file or a folder here, or choose it.";

async function opened() {
  const { user } = renderPage("/datasets");
  await user.click(await screen.findByRole("button", { name: "Upload a dataset" }));
  return { user, zone: await screen.findByText(WORDS) };
}

function dragged(files: File[], types = ["Files"]) {
  return { types, files, items: files.map((file) => ({ kind: "file", getAsFile: () => file, webkitGetAsEntry: () => null })), dropEffect: "copy" };
}

it("says so when what was dropped cannot be read, until something else is chosen", async () => {
  const { zone } = await opened();
  fireEvent.drop(zone, { dataTransfer: dragged([]) });
  expect(screen.getByRole("alert")).toHaveTextContent("What was dropped is no file that the browser can read. Choose it with the button instead.");

  fireEvent.drop(zone, { dataTransfer: dragged([FILE]) });
  expect(await screen.findByText(/table\.csv/)).toBeVisible();
  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
});

it.each(["dragOver", "drop"] as const)("keeps the page when a file is let go next to its place: %s", async (kind) => {
  await opened();
  const name = screen.getByRole("textbox", { name: "Name" });
  const file = createEvent[kind](name, { dataTransfer: dragged([FILE]) });
  fireEvent(name, file);
  expect(file.defaultPrevented).toBe(true);

  const words = createEvent[kind](name, { dataTransfer: dragged([], ["text/plain"]) });
  fireEvent(name, words);
  expect(words.defaultPrevented).toBe(false);
});
