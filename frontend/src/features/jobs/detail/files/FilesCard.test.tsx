// SPDX-License-Identifier: Apache-2.0
// A job's files are looked at on its page: texts, tables and pictures, a bounded part, nothing as HTML.
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { jobDetail } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, problem, server } from "@/testing/server";

import { previewKindOf, rowsOf } from "./preview";

const AT = "2026-11-20T10:00:00Z";
const FILES = [
  { name: "output/page.html", size_bytes: 200_000, sha256: "1".repeat(64), at: AT },
  { name: "output/table.csv", size_bytes: 20, sha256: "2".repeat(64), at: AT },
  { name: "output/cut.csv", size_bytes: 200_000, sha256: "4".repeat(64), at: AT },
  { name: "output/empty.txt", size_bytes: 0, sha256: "5".repeat(64), at: AT },
  { name: "output/plot.png", size_bytes: 20, sha256: "6".repeat(64), at: AT },
  { name: "output/weights.bin", size_bytes: 20, sha256: "3".repeat(64), at: AT },
];

function serve(content: string) {
  const ranges: (string | null)[] = [];
  const detail = jobDetail({ state: "succeeded" });
  server.use(
    answers("/api/v1/jobs/{id}", detail),
    answers("/api/v1/jobs/{id}/events", page([])),
    answers("/api/v1/jobs/{id}/artifacts", FILES),
    http.get("/api/v1/jobs/:id/artifacts/output/:name", ({ request }) => {
      ranges.push(request.headers.get("Range"));
      return HttpResponse.text(content);
    }),
  );
  return { ...renderPage(`/jobs/${detail.id}/artifacts`), ranges };
}

it("shows the beginning of a page as the text that it is", async () => {
  const { user, ranges } = serve("<h1>Hello</h1><script>alert(1)</script>");
  await user.click(await screen.findByRole("button", { name: "Preview output/page.html" }));
  const dialog = await screen.findByRole("dialog", { name: "output/page.html" });
  expect(await within(dialog).findByText("<h1>Hello</h1><script>alert(1)</script>")).toBeVisible();
  expect(dialog.querySelector("h1, script")).toBeNull();
  expect(ranges).toEqual(["bytes=0-65535"]);
  expect(within(dialog).getByText(/^From the first/)).toBeVisible();
});

it("shows the first rows of a table, and no preview of other files", async () => {
  const { user } = serve("name,n\ncat,3\n");
  await user.click(await screen.findByRole("button", { name: "Preview output/table.csv" }));
  const table = await screen.findByRole("table", { name: "First rows" });
  expect(within(table).getAllByRole("cell").map(({ textContent }) => textContent)).toEqual(["cat", "3"]);
  expect(screen.queryByRole("button", { name: "Preview output/weights.bin", hidden: true })).not.toBeInTheDocument();
});

it("shows the beginning of a table without a whole row, and asks for nothing of an empty file", async () => {
  const { user, ranges } = serve("name;n;and so on");
  await user.click(await screen.findByRole("button", { name: "Preview output/cut.csv" }));
  expect(await within(await screen.findByRole("dialog")).findByText("name;n;and so on")).toBeVisible();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  await user.click(await screen.findByRole("button", { name: "Preview output/empty.txt" }));
  expect(await screen.findByText("The file is empty.")).toBeVisible();
  expect(ranges).toHaveLength(1);
});

it("says of a picture that is none what it is", async () => {
  const { user } = serve("no picture");
  await user.click(await screen.findByRole("button", { name: "Preview output/plot.png" }));
  fireEvent.error(await screen.findByRole("img", { name: "output/plot.png" }));
  expect(await screen.findByText(/^The file is no picture, despite its name\./)).toBeVisible();
});

it("says that the files could not be read, not that there are none", async () => {
  serve("");
  server.use(http.get("/api/v1/jobs/:id/artifacts", () => problem(403, { title: "Not allowed", detail: "The project was closed to you." })));
  expect(await screen.findByText("The project was closed to you.")).toBeVisible();
  expect(screen.queryByText("No files")).not.toBeInTheDocument();
});

it("reads quoted cells, leaves out a row that was cut, and knows what is too large", () => {
  expect(rowsOf('a,"b ""c"", d"\r\n1,"x\ny"\r\n2,cu', "t.csv", false)).toEqual([["a", 'b "c", d'], ["1", "x\ny"]]);
  expect(rowsOf("a\tb\n1,5\t2", "t.tsv", true)).toEqual([["a", "b"], ["1,5", "2"]]);
  expect(rowsOf('"a, b";c\n"x;1";2\n', "t.csv", true)).toEqual([["a, b", "c"], ["x;1", "2"]]);
  expect(rowsOf("a\tb|c\n1\t2", "t.csv", true)).toEqual([["a", "b|c"], ["1", "2"]]);
  expect(rowsOf("x\n".repeat(80), "t.csv", true)).toHaveLength(50);
  expect(previewKindOf({ name: "plot.PNG", size_bytes: 10 })).toBe("image");
  expect(previewKindOf({ name: "plot.png", size_bytes: 6 * 1024 * 1024 })).toBeNull();
  expect(previewKindOf({ name: "plot.svg", size_bytes: 10 })).toBe("text");
  expect(previewKindOf({ name: "archive", size_bytes: 10 })).toBeNull();
});
