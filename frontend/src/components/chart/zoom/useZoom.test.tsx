// SPDX-License-Identifier: Apache-2.0
// The zoom of charts is in the address: read from a link, written by a drag, left by the button, and no address breaks the page.
import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter, useLocation } from "react-router";
import { expect, it } from "vitest";

import { ShowAll } from "./ShowAll";
import { useZoom } from "./useZoom";

function Zoomed() {
  const [zoom, setZoom] = useZoom("zoom", "step");
  return (
    <>
      <p>{zoom === null ? "all" : `from ${zoom.low} to ${zoom.high}`}</p>
      <p>{`at ${useLocation().search}`}</p>
      <button type="button" onClick={() => setZoom({ low: 2.123456789, high: 7.5 })}>
        drag
      </button>
      <ShowAll zoom={zoom} unit={{ text: String }} onZoom={setZoom} />
    </>
  );
}

function at(search: string) {
  render(
    <MantineProvider>
      <MemoryRouter initialEntries={[`/compare?${search}`]}>
        <Zoomed />
      </MemoryRouter>
    </MantineProvider>,
  );
}

it("is read from a link, and left by the button, which keeps the rest of the address", async () => {
  at("x=step&zoom=step~2~7.5");
  expect(screen.getByText("from 2 to 7.5")).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "2 to 7.5: show all" }));
  expect(screen.getByText("all")).toBeInTheDocument();
  expect(screen.getByText("at ?x=step")).toBeInTheDocument();
});

it("is written by a drag, as exactly as a chart can be read", async () => {
  at("");
  await userEvent.click(screen.getByRole("button", { name: "drag" }));
  expect(screen.getByText("at ?zoom=step%7E2.12346%7E7.5")).toBeInTheDocument();
  expect(screen.getByText("from 2.12346 to 7.5")).toBeInTheDocument();
});

it.each(["epoch~2~7.5", "step~7.5~2", "step~2~2", "step~~2", "step~NaN~2", "step~1~Infinity", "step", "step~a~b"])("shows all at zoom=%s", (text) => {
  at(`zoom=${text}`);
  expect(screen.getByText("all")).toBeInTheDocument();
});
