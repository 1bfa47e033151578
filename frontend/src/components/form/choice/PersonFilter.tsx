// SPDX-License-Identifier: Apache-2.0
// A filter by who did something: people and service accounts, searched by name or e-mail address.
import type { SelectProps } from "@mantine/core";

import { personChoices } from "@/api/choices";
import { isStaff, useMe } from "@/api/session";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props extends Pick<SelectProps, "label" | "aria-label" | "w"> {
  /** Of which organisation; left out: of all that one belongs to, for administrators of the platform of all. */
  organisationId?: string | undefined;
  placeholder: string;
  /** A user name, or "": anyone. */
  value: string;
  onChange: (username: string) => void;
}

export function PersonFilter({ organisationId, ...field }: Props) {
  const me = useMe();
  const everywhere = isStaff(me) ? "platform" : me.memberships.map(({ organisation }) => organisation.id);
  return (
    <SearchSelect
      size="xs"
      clearable
      comboboxProps={{ width: 220, position: "bottom-start" }}
      source={personChoices(organisationId ? [organisationId] : everywhere, me.username)}
      textOf={({ username }) => username}
      {...field}
    />
  );
}
