// SPDX-License-Identifier: Apache-2.0
// A button that waits for an answer is disabled, and browsers take the focus from what is disabled: people who use the
// keyboard would go on from the top of the page. Once it is enabled again it has the focus again, unless that is elsewhere.

/** Watches all buttons of the page; returns what ends that. */
export function keepFocus(page: Document = document): () => void {
  let focused: EventTarget | null = null;
  const remember = ({ target }: FocusEvent) => {
    focused = target;
  };
  const observer = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target !== focused || !(target instanceof HTMLButtonElement) || target.disabled) continue;
      if (page.activeElement === null || page.activeElement === page.body) target.focus({ preventScroll: true });
    }
  });
  page.addEventListener("focusin", remember);
  observer.observe(page.documentElement, { subtree: true, attributeFilter: ["disabled"] });
  return () => {
    page.removeEventListener("focusin", remember);
    observer.disconnect();
  };
}
