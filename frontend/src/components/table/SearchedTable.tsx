// SPDX-License-Identifier: Apache-2.0
// A table of a list that the API searches and pages.
import type { ReactElement } from "react";

import { ScrollTable } from "./ScrollTable";
import { SearchedList, type SearchedListProps } from "./SearchedList";

interface Props<T> extends SearchedListProps<T> {
  head: string[];
  minWidth?: number;
  /** A table row, with a key. */
  row: (item: T) => ReactElement;
}

export function SearchedTable<T>({ head, minWidth, row, ...list }: Props<T>) {
  return (
    <SearchedList {...list}>
      {(items) => (
        <ScrollTable label={list.label} head={head} isOneLine={false} {...(minWidth !== undefined && { minWidth })}>
          {items.map(row)}
        </ScrollTable>
      )}
    </SearchedList>
  );
}
