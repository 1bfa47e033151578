// SPDX-License-Identifier: Apache-2.0
// The focus comes back to a button that was disabled for a while, and is taken from nothing else.
import { afterEach, expect, it } from "vitest";

import { keepFocus } from "./keptFocus";

let stop = () => {};

afterEach(() => {
  stop();
  document.body.replaceChildren();
});

function shown() {
  document.body.innerHTML = "<button>Save</button><input>";
  stop = keepFocus();
  const [button, input] = [document.querySelector("button"), document.querySelector("input")];
  if (button === null || input === null) throw new Error("nothing is shown");
  button.focus();
  return { button, input };
}

/** What browsers do with a button that has the focus. */
function disable(button: HTMLButtonElement) {
  button.disabled = true;
  button.blur();
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

it("gives the focus back to a button that waited", async () => {
  const { button } = shown();
  disable(button);
  await settled();
  expect(button).not.toHaveFocus();
  button.disabled = false;
  await settled();
  expect(button).toHaveFocus();
});

it("leaves the focus where it went meanwhile", async () => {
  const { button, input } = shown();
  disable(button);
  input.focus();
  button.disabled = false;
  await settled();
  expect(input).toHaveFocus();
});

it("gives none to a button that had none", async () => {
  const { button, input } = shown();
  input.focus();
  input.blur();
  button.disabled = true;
  button.disabled = false;
  await settled();
  expect(button).not.toHaveFocus();
});
