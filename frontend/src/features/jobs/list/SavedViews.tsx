// SPDX-License-Identifier: Apache-2.0
// Views of the list of jobs: the address by a name, kept in this browser. The address itself may be sent to others.
import { t } from "@lingui/core/macro";
import { Button, CloseButton, Group, Menu, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useState } from "react";
import { useSearchParams } from "react-router";

interface View {
  name: string;
  search: string;
}

export function SavedViews() {
  const [views, setViews] = useLocalStorage<View[]>({ key: "mlhub-job-views", defaultValue: [] });
  const [search, setSearch] = useSearchParams();
  const [name, setName] = useState("");
  const save = () => {
    const wanted = name.trim();
    if (wanted === "") return;
    setViews((known) => [...known.filter((view) => view.name !== wanted), { name: wanted, search: search.toString() }]);
    setName("");
  };
  return (
    <Menu withinPortal>
      <Menu.Target>
        <Button size="xs" variant="default">
          {t`Views`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => setSearch("")}>{t`All jobs`}</Menu.Item>
        {views.map((view) => (
          <Group key={view.name} gap={0} wrap="nowrap">
            <Menu.Item onClick={() => setSearch(view.search)}>{view.name}</Menu.Item>
            <CloseButton
              size="sm"
              aria-label={t`Forget the view ${view.name}`}
              onClick={() => setViews((known) => known.filter((one) => one.name !== view.name))}
            />
          </Group>
        ))}
        <Menu.Divider />
        <Group gap="xs" p="xs" wrap="nowrap">
          <TextInput
            size="xs"
            aria-label={t`Name of the view`}
            placeholder={t`Name`}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              event.stopPropagation(); // the menu would take letters for a search among its items
              if (event.key === "Enter") save();
            }}
          />
          <Button size="xs" onClick={save} disabled={name.trim() === ""}>
            {t`Save view`}
          </Button>
        </Group>
      </Menu.Dropdown>
    </Menu>
  );
}
