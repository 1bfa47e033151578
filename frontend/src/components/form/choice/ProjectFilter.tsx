// SPDX-License-Identifier: Apache-2.0
// A filter of lists by project: searched by the name of a project, its team or its organisation, of any number of projects.
import { t } from "@lingui/core/macro";
import type { SelectProps } from "@mantine/core";

import { projectChoices } from "@/api/choices";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props extends Pick<SelectProps, "w" | "maw"> {
  /** A project's id; "": all. */
  value: string;
  onChange: (id: string) => void;
}

export function ProjectFilter(field: Props) {
  return (
    <SearchSelect
      size="xs"
      clearable
      aria-label={t`Project`}
      placeholder={t`All projects`}
      comboboxProps={{ width: 280, position: "bottom-start" }}
      source={projectChoices()}
      textOf={({ name, organisation }) => `${organisation.name} / ${name}`}
      {...field}
    />
  );
}
