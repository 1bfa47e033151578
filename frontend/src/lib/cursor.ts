// SPDX-License-Identifier: Apache-2.0
// The cursor inside the `next` and `previous` addresses of a page.

export function cursorOf(address: string | null | undefined): string | undefined {
  if (!address) return undefined;
  return new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined;
}

/** The part of a list's query that says which page; the first has no cursor, not an empty one. */
export function pageAt(cursor: string | undefined): { cursor?: string } {
  return cursor ? { cursor } : {};
}
