// SPDX-License-Identifier: Apache-2.0
// Chooses a team of an organisation, of any number: by its name, or by that of a team above it.
import type { SelectProps } from "@mantine/core";

import { type NamedTeam, teamChoices } from "@/api/tenants/teams";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props extends Pick<SelectProps, "label" | "aria-label" | "error" | "size" | "miw"> {
  organisationId: string;
  /** What it is called that no team is chosen. */
  none: string;
  /** Of these some are not offered. */
  isOffered?: (team: NamedTeam) => boolean;
  /** The chosen team, where the page knows it. */
  current?: NamedTeam | null;
  /** A team's id, or "". */
  value: string;
  onChange: (id: string) => void;
}

export function TeamSelect({ organisationId, none, ...field }: Props) {
  return (
    <SearchSelect
      allowDeselect={false}
      comboboxProps={{ width: 260, position: "bottom-start" }}
      source={teamChoices(organisationId)}
      textOf={({ name }) => name}
      extra={[{ value: "", label: none }]}
      {...field}
    />
  );
}
