// SPDX-License-Identifier: Apache-2.0
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { OneByOne } from "./OneByOne";

it("makes its first part at once and the others in frames of their own", async () => {
  render(
    <OneByOne>
      <p>first</p>
      {false}
      <p>second</p>
      <p>third</p>
    </OneByOne>,
  );
  expect(screen.getByText("first")).toBeVisible();
  expect(screen.queryByText("second")).toBeNull();
  expect(await screen.findByText("second")).toBeVisible();
  expect(await screen.findByText("third")).toBeVisible();
});
