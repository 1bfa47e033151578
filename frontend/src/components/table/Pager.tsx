// SPDX-License-Identifier: Apache-2.0
// Steps through a cursor-paged list; shows nothing when there is one page only.
import { t } from "@lingui/core/macro";
import { Button, Group } from "@mantine/core";

import { cursorOf } from "@/lib/cursor";

interface Props {
  page: { next?: string | null; previous?: string | null };
  /** The cursor to ask for; undefined: the first page. */
  onCursor: (cursor: string | undefined) => void;
  /** Whether the list is in an order of its own, such as by name; else the newest come first. */
  isSorted?: boolean;
}

export function Pager({ page, onCursor, isSorted = false }: Props) {
  if (!page.next && !page.previous) return null;
  return (
    <Group component="nav" aria-label={t`Pages`} justify="flex-end" gap="xs">
      <Button
        variant="default"
        size="xs"
        disabled={!page.previous}
        onClick={() => onCursor(cursorOf(page.previous))}
      >
        {isSorted ? t`Previous` : t`Newer`}
      </Button>
      <Button variant="default" size="xs" disabled={!page.next} onClick={() => onCursor(cursorOf(page.next))}>
        {isSorted ? t`Next` : t`Older`}
      </Button>
    </Group>
  );
}
