// SPDX-License-Identifier: Apache-2.0
// Pages whose code comes when they are shown: the shell does not wait for it, and its absence is explained.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { createMemoryRouter, Link, type RouteObject, RouterProvider } from "react-router";
import { describe, expect, it } from "vitest";

import { Providers } from "@/app/Providers";
import { createQueryClient } from "@/app/queries/queryClient";
import { shellRoute } from "@/app/router";
import { pageChunk } from "@/lib/chunk";
import { server } from "@/testing/server";

function open(...pages: RouteObject[]) {
  const router = createMemoryRouter([shellRoute(pages)], { initialEntries: ["/first"] });
  render(
    <Providers queries={createQueryClient({ retries: 0 })} isTest>
      <RouterProvider router={router} />
    </Providers>,
  );
  return { user: userEvent.setup(), router };
}

const isMissing = () =>
  Promise.reject(new TypeError("Failed to fetch dynamically imported module: /assets/JobPage-0a1b2c3d.js"));

describe("A page's chunk", () => {
  it("leaves the shell usable while it is loaded, and is shown when it has arrived", async () => {
    let arrive: (page: () => string) => void = () => undefined;
    const chunk = new Promise<() => string>((resolve) => (arrive = resolve));
    open({ path: "first", lazy: pageChunk("jobs", () => chunk) });
    expect(await screen.findByRole("navigation", { name: "Main" })).toBeVisible();
    expect(screen.getByText("Loading the page…")).toBeInTheDocument();
    arrive(() => "The first page");
    expect(await screen.findByText("The first page")).toBeVisible();
  });

  it("says in the shell that it could not be loaded, and offers to reload", async () => {
    open({ path: "first", lazy: pageChunk("jobs", isMissing) });
    expect(await screen.findByRole("alert")).toHaveTextContent("MLHub was probably updated since you opened it");
    expect(screen.getByRole("button", { name: "Reload" })).toBeVisible();
    expect(screen.getByRole("link", { name: "Jobs" })).toBeVisible();
  });

  it("is waited for while the server is away, and the page that is shown stays", async () => {
    let tries = 0;
    let asked = 0;
    server.use(
      http.head("/favicon.svg", () => {
        asked += 1;
        return asked === 1 ? HttpResponse.error() : new HttpResponse(null, { status: asked === 2 ? 502 : 200 });
      }),
    );
    const { user } = open(
      { path: "first", element: <Link to="/second">Onwards</Link> },
      { path: "second", lazy: pageChunk("jobs", () => (++tries < 3 ? isMissing() : Promise.resolve(() => "The second page"))) },
    );
    await user.click(await screen.findByRole("link", { name: "Onwards" }));
    await expect.poll(() => asked).toBeGreaterThan(0);
    expect(screen.getByRole("link", { name: "Onwards" })).toBeVisible();
    expect(await screen.findByText("The second page")).toBeVisible();
    expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  });

  it("says so too when it is missing on the way from another page", async () => {
    const { user } = open(
      { path: "first", element: <Link to="/second">Onwards</Link> },
      { path: "second", lazy: pageChunk("jobs", isMissing) },
    );
    await user.click(await screen.findByRole("link", { name: "Onwards" }));
    expect(await screen.findByRole("heading", { name: "This page could not be loaded" })).toBeVisible();
  });
});

describe("A page that fails while it is drawn", () => {
  it("names the error, and offers to reload", async () => {
    function Broken(): never {
      throw new Error("curve is undefined");
    }
    const { router } = open({ path: "first", element: <Broken /> });
    expect(await screen.findByRole("alert")).toHaveTextContent("curve is undefined");
    expect(screen.getByRole("button", { name: "Reload" })).toBeVisible();
    expect(router.state.location.pathname).toBe("/first");
  });
});
