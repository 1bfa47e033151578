// SPDX-License-Identifier: Apache-2.0
// A dialogue whose code comes when it is opened: the focus moves into it, and returns to the button that opened it.
import { MantineProvider } from "@mantine/core";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it } from "vitest";

import { Dialog } from "./Dialog";

function Opener() {
  const [isOpen, setOpen] = useState(false);
  return (
    <MantineProvider env="test">
      <button onClick={() => setOpen(true)}>Open</button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title="A question">
        <input aria-label="Answer" data-autofocus />
      </Dialog>
    </MantineProvider>
  );
}

function Nested() {
  const [isOpen, setOpen] = useState(false);
  const [isInside, setInside] = useState(false);
  return (
    <MantineProvider env="test">
      <button onClick={() => setOpen(true)}>Open</button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title="A form">
        <button onClick={() => setInside(true)}>Discard</button>
        <Dialog opened={isInside} onClose={() => setInside(false)} title="Discard it?">
          <button>Yes</button>
        </Dialog>
      </Dialog>
    </MantineProvider>
  );
}

it("is closed by Escape before the dialogue around it, which has the focus again", async () => {
  const user = userEvent.setup();
  render(<Nested />);
  await user.click(screen.getByRole("button", { name: "Open" }));
  await user.click(await screen.findByRole("button", { name: "Discard" }));
  await screen.findByRole("button", { name: "Yes" });
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("button", { name: "Yes" })).not.toBeInTheDocument());
  await waitFor(() => expect(screen.getByRole("button", { name: "Discard" })).toHaveFocus());
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
});

it("takes the focus when it opens for the first time, and gives it back when it closes", async () => {
  const user = userEvent.setup();
  render(<Opener />);
  expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
  const button = screen.getByRole("button", { name: "Open" });
  await user.click(button);
  const input = await screen.findByRole("textbox", { name: "Answer" });
  await waitFor(() => expect(input).toHaveFocus());
  await user.keyboard("{Escape}");
  await waitFor(() => expect(button).toHaveFocus());
  expect(screen.queryByRole("dialog")).not.toBeInTheDocument();
});
