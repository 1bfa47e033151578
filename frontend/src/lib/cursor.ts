// The cursor inside the `next` and `previous` addresses of a page.

export function cursorOf(address: string | null | undefined): string | undefined {
  if (!address) return undefined;
  return new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined;
}
