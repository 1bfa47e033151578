// SPDX-License-Identifier: Apache-2.0
// Notes and tags on a version's page: Markdown without HTML and with safe links, written by members.
import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { ACME, me, model, modelVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const NOTES = `# Digits

Reads **digits**. <script>alert(1)</script> <img src=x onerror="alert(2)">

[a](https://example.org/paper) [b](javascript:alert(3)) ![plot](https://example.org/plot.png) [c](/jobs)
[d](//example.org) [e](data:text/html,x)
`;

function serve(written: { tags: string[]; notes: string }) {
  server.use(
    answers("/api/v1/models/{id}", model()),
    answers("/api/v1/models/{id}/versions", page([])),
    http.get("/api/v1/model-versions/:id", () => HttpResponse.json(modelVersion(written))),
  );
}

it("shows notes as Markdown, HTML as text, and links that lead to the web or this dashboard alone", async () => {
  serve({ tags: ["paper"], notes: NOTES });
  renderPage(`/models/${model().id}`);
  const section = await screen.findByRole("region", { name: "Notes" });
  expect(within(section).getByRole("heading", { name: "Digits", level: 3 })).toBeVisible();
  expect(within(section).getByText("digits").tagName).toBe("STRONG");
  expect(within(section).getByText("paper")).toBeVisible();
  expect(section.querySelector("script, img")).toBeNull();
  expect(section).toHaveTextContent("<script>alert(1)</script>");
  const links = within(section).getAllByRole("link");
  expect(links.map((link) => [link.textContent, link.getAttribute("href")])).toEqual([
    ["a", "https://example.org/paper"],
    ["plot", "https://example.org/plot.png"],
    ["c", "/jobs"],
  ]);
  for (const link of links) expect(link).toHaveAttribute("rel", "noopener noreferrer nofollow");
});

it("saves notes and tags, and shows what was saved", async () => {
  let written = { tags: [] as string[], notes: "" };
  const sent: unknown[] = [];
  serve(written);
  server.use(
    http.get("/api/v1/model-versions/:id", () => HttpResponse.json(modelVersion(written))),
    http.patch("/api/v1/model-versions/:id", async ({ request }) => {
      written = (await request.json()) as typeof written;
      sent.push(written);
      return HttpResponse.json(modelVersion(written));
    }),
  );
  const { user } = renderPage(`/models/${model().id}`);
  await user.click(await screen.findByRole("button", { name: "Write notes" }));
  await user.type(screen.getByRole("textbox", { name: "Notes" }), "Fails on **letters**.");
  await user.type(screen.getByLabelText("Tags", { selector: "input" }), "baseline{Enter}");
  await user.click(screen.getByRole("button", { name: "Save notes and tags" }));
  expect((await screen.findByText("letters")).tagName).toBe("STRONG");
  expect(sent).toEqual([{ tags: ["baseline"], notes: "Fails on **letters**." }]);
});

it("lets viewers read only", async () => {
  server.use(answers("/api/v1/auth/me", me({ memberships: [{ id: "m", organisation: ACME, role: "viewer" }] })));
  serve({ tags: [], notes: "For the record." });
  renderPage(`/models/${model().id}`);
  expect(await screen.findByText("For the record.")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Edit notes and tags" })).not.toBeInTheDocument();
});
