// SPDX-License-Identifier: Apache-2.0
// Chooses which columns the list of jobs shows.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Menu, Stack } from "@mantine/core";

import { COLUMNS, COLUMN_NAMES, type ColumnName } from "./columns";

interface Props {
  columns: readonly ColumnName[];
  onChange: (columns: readonly ColumnName[]) => void;
}

export function ColumnMenu({ columns, onChange }: Props) {
  return (
    <Menu closeOnItemClick={false} withinPortal>
      <Menu.Target>
        <Button size="xs" variant="default" visibleFrom="sm">
          {t`Columns`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown p="xs">
        <Stack gap={6}>
          {COLUMN_NAMES.filter((name) => name !== "name").map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={COLUMNS[name].label}
              checked={columns.includes(name)}
              onChange={(event) =>
                onChange(COLUMN_NAMES.filter((one) => (one === name ? event.currentTarget.checked : columns.includes(one))))
              }
            />
          ))}
        </Stack>
      </Menu.Dropdown>
    </Menu>
  );
}
