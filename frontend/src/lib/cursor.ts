// SPDX-License-Identifier: Apache-2.0
// The cursor inside the `next` and `previous` addresses of a page, and lists that are read to their end.

export function cursorOf(address: string | null | undefined): string | undefined {
  if (!address) return undefined;
  return new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined;
}

/** The part of a list's query that says which page; the first has no cursor, not an empty one. */
export function pageAt(cursor: string | undefined): { cursor?: string } {
  return cursor ? { cursor } : {};
}

/** The most rows of one answer. */
const PAGE = 200;

interface Page<T> {
  next?: string | null;
  results: readonly T[];
}

/** The rows of all pages of a list; for lists that are searched and shown as a whole. */
export async function everyPage<T>(read: (query: { limit: number; cursor?: string }) => Promise<Page<T>>): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const { next, results } = await read({ limit: PAGE, ...pageAt(cursor) });
    rows.push(...results);
    cursor = cursorOf(next);
  } while (cursor !== undefined);
  return rows;
}
