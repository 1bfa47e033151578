// SPDX-License-Identifier: Apache-2.0
// The nonce of this page: its Content-Security-Policy applies only those <style> elements that carry it.
declare global {
  interface Window {
    /** Where react-remove-scroll, which Mantine's dialogs use, looks for the nonce. */
    __webpack_nonce__?: string;
  }
}

/** Empty where the server has put none into the page: in tests, and under `npm run dev`. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}

/** Gives the nonce to the library that looks for it in a global variable. Call it before the first render. */
export function publishStyleNonce(): void {
  window.__webpack_nonce__ = styleNonce();
}
