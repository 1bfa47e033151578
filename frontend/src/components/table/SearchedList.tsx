// SPDX-License-Identifier: Apache-2.0
// What a list of the API has, with a search above it: by the API, page by page. Search and page stand in the address.
import { t } from "@lingui/core/macro";
import { Group, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { keepPreviousData, type QueryKey, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";

import type { Page } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { pageAt } from "@/lib/cursor";

import { Pager } from "./Pager";

/** What a list of the API is asked for. */
export interface ListQuery {
  search?: string;
  cursor?: string;
}

export interface SearchedListProps<T> {
  /** Of the search in the address; one for each list of a page. */
  name: string;
  /** What is searched, such as "Name or e-mail address". */
  searchedBy: string;
  label: string;
  queryKey: QueryKey;
  read: (query: ListQuery) => Promise<Page<T>>;
  /** Where there is nothing, and nothing is searched for. */
  empty: ReactNode;
  /** Whether the list is in an order of its own, such as by name; else the newest come first. */
  isSorted?: boolean;
}

interface Props<T> extends SearchedListProps<T> {
  /** At least one. */
  children: (items: T[]) => ReactNode;
}

/** Of fewer rows all are seen at once. */
const WORTH_SEARCHING = 10;
const SETTLED_MS = 300;

/** Rows that the API searches and pages: there may be any number of them. */
export function SearchedList<T>({ name, searchedBy, label, queryKey, read, empty, isSorted = false, children }: Props<T>) {
  const place = usePlace(name);
  const asked: ListQuery = { ...(place.search && { search: place.search }), ...pageAt(place.cursor) };
  const list = useQuery({ queryKey: [...queryKey, asked], queryFn: () => read(asked), placeholderData: keepPreviousData });
  const page = list.data;
  const isLong = page !== undefined && (Boolean(page.next) || Boolean(page.previous) || page.results.length > WORTH_SEARCHING);
  const [typed, setTyped] = useState(place.search);
  const find = useDebouncedCallback((text: string) => place.find(text.trim()), SETTLED_MS);
  return (
    <>
      {(isLong || typed !== "" || place.search !== "") && (
        <Group>
          <TextInput
            type="search"
            size="xs"
            maw={320}
            flex={1}
            aria-label={t`Search: ${label}`}
            placeholder={searchedBy}
            value={typed}
            maxLength={100}
            onChange={(event) => {
              setTyped(event.currentTarget.value);
              find(event.currentTarget.value);
            }}
          />
        </Group>
      )}
      <QueryResult of={list}>
        {({ results, ...pages }) =>
          results.length > 0 ? (
            <>
              {children(results)}
              <Pager page={pages} isSorted={isSorted} onCursor={place.turn} />
            </>
          ) : place.search === "" ? (
            empty
          ) : (
            <Text size="sm" c="dimmed" role="status">{t`Nothing contains “${place.search}”.`}</Text>
          )
        }
      </QueryResult>
    </>
  );
}

interface Place {
  search: string;
  cursor: string | undefined;
  find: (search: string) => void;
  turn: (cursor: string | undefined) => void;
}

/** The search and the page of one table, in the address. */
function usePlace(name: string): Place {
  const [known, setKnown] = useSearchParams();
  const cursorName = `${name}_cursor`;
  const set = (changes: Record<string, string | undefined>) =>
    setKnown(
      (before) => {
        for (const [key, value] of Object.entries(changes)) {
          if (value) before.set(key, value);
          else before.delete(key);
        }
        return before;
      },
      { replace: true, preventScrollReset: true },
    );
  return {
    search: known.get(name) ?? "",
    cursor: known.get(cursorName) ?? undefined,
    find: (search) => set({ [name]: search, [cursorName]: undefined }),
    turn: (cursor) => set({ [cursorName]: cursor }),
  };
}
