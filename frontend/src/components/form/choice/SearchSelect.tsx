// SPDX-License-Identifier: Apache-2.0
// Chooses one of a list of the API, of any length: what is typed is searched for there. Its code is loaded when it is first
// drawn; until then a field that says what is chosen stands in its place.
import { t } from "@lingui/core/macro";
import { type SelectProps, TextInput } from "@mantine/core";
import { Suspense, useState } from "react";

import { type ChoiceSource, useChosen } from "@/api/choices";
import { useChoices } from "@/components/form/choice/useChoices";
import { lazyComponent } from "@/lib/chunk";

const Select = lazyComponent<SelectProps>(async () => (await import("./MantineSelect")).Select);

interface Option {
  value: string;
  label: string;
}

interface Props<T> extends Omit<SelectProps, "data" | "value" | "onChange" | "searchable" | "searchValue" | "onSearchChange" | "filter"> {
  source: ChoiceSource<T>;
  textOf: (item: T) => string;
  /** Of the headings between which the items stand. */
  groupOf?: (item: T) => string;
  /** Whether it is offered. */
  isOffered?: (item: T) => boolean;
  /** What is offered first, besides the list. */
  extra?: readonly Option[];
  /** What is chosen, where the page knows it: it is not read. */
  current?: T | null;
  /** An id; "": nothing is chosen. */
  value: string;
  onChange: (id: string) => void;
}

export function SearchSelect<T>({ source, textOf, groupOf, isOffered = () => true, extra = [], current, value, onChange, ...field }: Props<T>) {
  const own = extra.find((one) => one.value === value); // no item of the list: the API knows nothing of it
  const chosen = useChosen(source, own === undefined ? value : "", current ?? undefined);
  const [wasFocused, setWasFocused] = useState(false);
  const choices = useChoices(source, chosen === undefined ? own?.label : textOf(chosen));
  const option = (item: T): Option => ({ value: source.idOf(item), label: textOf(item) });
  const offered = choices.items.filter(isOffered);
  const isMissing = chosen !== undefined && !offered.some((item) => source.idOf(item) === value);
  const items = isMissing && isOffered(chosen) ? [chosen, ...offered] : offered;
  const known = own !== undefined || items.some((item) => source.idOf(item) === value);
  const { label, description, size, w, maw, miw, "aria-label": name } = field;
  const shown = known ? (own?.label ?? (chosen && textOf(chosen)) ?? "") : "";
  const offers = () => [...extra, ...(groupOf === undefined ? items.map(option) : grouped(items, groupOf, option))];
  return (
    <Suspense fallback={<TextInput {...{ label, description, size, w, maw, miw }} aria-label={name} value={shown} disabled />}>
      <Select
        searchable
        nothingFoundMessage={t`Nothing contains this.`}
        {...field}
        {...choices.field}
        // What is offered is part of the document while the list is closed: one field a row would be rows squared.
        data={wasFocused ? offers() : known ? [{ value, label: shown }] : []}
        onFocus={() => setWasFocused(true)}
        value={known ? value : null}
        onChange={(id) => onChange(id ?? "")}
        {...(choices.isLong && { description: field.description ?? t`There are more than are shown: type a part of the name.` })}
      />
    </Suspense>
  );
}

function grouped<T>(items: readonly T[], groupOf: (item: T) => string, option: (item: T) => Option) {
  const groups = new Map<string, Option[]>();
  for (const item of items) {
    const name = groupOf(item);
    groups.set(name, [...(groups.get(name) ?? []), option(item)]);
  }
  return [...groups].map(([group, members]) => ({ group, items: members }));
}
