// SPDX-License-Identifier: Apache-2.0
// What a node of the tree is guaranteed of single GPU types, uses of it, borrows and lends.
import { t } from "@lingui/core/macro";
import { List } from "@mantine/core";

import type { QuotaOwner } from "@/api/types";
import { number } from "@/lib/quantities";

type Books = QuotaOwner["books_by_type"][string];

export function TypeBooks({ owner }: { owner: QuotaOwner }) {
  return (
    <List size="xs" listStyleType="none" c="dimmed" aria-label={t`GPU types of ${owner.name}`}>
      {Object.entries(owner.books_by_type).map(([type, books]) => (
        <List.Item key={type}>
          {type}: {booksText(books, owner.lend_limit_by_type[type], owner.borrow_limit_by_type[type])}
        </List.Item>
      ))}
    </List>
  );
}

/** "3 of 4 guaranteed used · 1 of at most 2 lent", "nothing guaranteed · 2 borrowed" */
function booksText({ guaranteed, used, borrowed, lent }: Books, mostLent?: number, mostBorrowed?: number): string {
  return [
    guaranteed > 0 ? t`${number(used - borrowed)} of ${number(guaranteed)} guaranteed used` : t`nothing guaranteed`,
    mostBorrowed !== undefined
      ? t`${number(borrowed)} of at most ${number(mostBorrowed)} borrowed`
      : borrowed > 0 && t`${number(borrowed)} borrowed`,
    mostLent !== undefined && guaranteed > 0
      ? t`${number(lent)} of at most ${number(mostLent)} lent`
      : lent > 0 && t`${number(lent)} lent`,
  ]
    .filter(Boolean)
    .join(" · ");
}
