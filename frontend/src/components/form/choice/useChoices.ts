// SPDX-License-Identifier: Apache-2.0
// What a field offers while one types: a short list is here as a whole and filtered here, a long one is searched by the API.
import type { OptionsFilter } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { type ChoiceSource, choicesQuery } from "@/api/choices";

const SETTLED_MS = 250;
const all: OptionsFilter = ({ options }) => options;

/** chosen: the text of what is chosen, which fields show as what is typed. */
export function useChoices<T>(source: ChoiceSource<T>, chosen?: string) {
  const [typed, setTyped] = useState("");
  const first = useQuery(choicesQuery(source));
  const isWhole = first.data !== undefined && !first.data.next && source.findsMore !== true;
  const word = typed === chosen ? "" : typed.trim();
  const [search] = useDebouncedValue(word, SETTLED_MS);
  const asked = isWhole ? "" : search;
  const found = useQuery({ ...choicesQuery(source, asked), placeholderData: keepPreviousData });
  return {
    items: found.data?.results ?? [],
    isPending: first.isPending,
    /** Whether the API may have more than is offered. */
    isLong: !isWhole && Boolean(found.data?.next),
    error: first.error ?? found.error,
    /** For Select and MultiSelect. */
    field: { onSearchChange: setTyped, ...(isWhole ? {} : { filter: all }) },
  };
}
