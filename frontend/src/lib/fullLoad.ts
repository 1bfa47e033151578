// SPDX-License-Identifier: Apache-2.0
// Loads a page anew from the server: nothing that was read before, and no stream, outlives it.
export function loadPage(address: string): void {
  window.location.assign(address);
}
