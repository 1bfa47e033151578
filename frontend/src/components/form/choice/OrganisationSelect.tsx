// SPDX-License-Identifier: Apache-2.0
// Chooses an organisation, of any number, by a part of its name.
import { t } from "@lingui/core/macro";
import type { ComponentProps } from "react";

import { organisationChoices } from "@/api/choices";
import type { Organisation, Role } from "@/api/types";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props extends Omit<ComponentProps<typeof SearchSelect<Organisation>>, "source" | "textOf" | "groupOf" | "extra"> {
  /** Only those in which one has one of these. */
  roles?: readonly Role[];
  /** What it is called that none is chosen; left out: one must be. */
  none?: string;
}

export function OrganisationSelect({ roles, none, ...field }: Props) {
  return (
    <SearchSelect
      label={t`Organisation`}
      allowDeselect={false}
      comboboxProps={{ width: "target", position: "bottom-start" }}
      source={organisationChoices(roles)}
      textOf={({ name }) => name}
      extra={none === undefined ? [] : [{ value: "", label: none }]}
      {...field}
    />
  );
}
