// SPDX-License-Identifier: Apache-2.0
// A list of the API as a table with its pager, or what to say when it is empty.
import type { ReactElement, ReactNode } from "react";

import type { Page } from "@/api/types";
import { QueryResult, type Query } from "@/components/feedback/QueryResult";

import { Pager } from "./Pager";
import { ScrollTable } from "./ScrollTable";

export interface PagedTableProps<T> {
  list: Query<Page<T>>;
  label: string;
  head: string[];
  minWidth?: number;
  /** Whether a row is one line, whatever is in it: what is cut off is read under the pointer. */
  isOneLine?: boolean;
  empty: ReactNode;
  /** A table row, with a key. */
  row: (item: T) => ReactElement;
  onCursor: (cursor: string | undefined) => void;
}

export function PagedTable<T>({ list, empty, row, onCursor, isOneLine = true, ...table }: PagedTableProps<T>) {
  return (
    <QueryResult of={list}>
      {(page) =>
        page.results.length === 0 ? (
          empty
        ) : (
          <>
            <ScrollTable {...table} isOneLine={isOneLine}>{page.results.map(row)}</ScrollTable>
            <Pager page={page} onCursor={onCursor} />
          </>
        )
      }
    </QueryResult>
  );
}
