// SPDX-License-Identifier: Apache-2.0
// A menu with a field in it: the keyboard stays in the menu until Escape closes it, wherever in it the focus is.
import { MantineProvider } from "@mantine/core";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import { KeptByName } from "./KeptByName";

it("keeps the focus while one tabs, and gives it back to its button when Escape closes it from the field", async () => {
  const user = userEvent.setup();
  render(
    <MantineProvider env="test">
      <KeptByName storageKey="test-names" label="Views" nameLabel="Name of the view" saveText="Save" forgetText={(name) => name} made={(name) => ({ name })} onUse={() => undefined} />
      <button>After</button>
    </MantineProvider>,
  );
  const button = screen.getByRole("button", { name: "Views" });
  await user.click(button);
  const field = await screen.findByRole("textbox", { name: "Name of the view" });
  const menu = screen.getByRole("menu");
  field.focus();
  await user.tab();
  expect(menu).toContainElement(document.activeElement as HTMLElement);
  field.focus();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("menu")).not.toBeInTheDocument());
  await waitFor(() => expect(button).toHaveFocus());
});
