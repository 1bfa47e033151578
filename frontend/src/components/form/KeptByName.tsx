// SPDX-License-Identifier: Apache-2.0
// A menu of what this browser keeps by names that a person gave: to use, to forget, and to keep what there is now by another.
import { t } from "@lingui/core/macro";
import { Button, CloseButton, Group, Menu, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { type ReactNode, useState } from "react";

interface Named {
  name: string;
}

interface Props<T extends Named> {
  /** Of the browser's store. */
  storageKey: string;
  label: string;
  nameLabel: string;
  saveText: string;
  forgetText: (name: string) => string;
  /** What there is now, by that name. */
  made: (name: string) => T | Promise<T>;
  onUse: (kept: T) => void;
  isUsing?: boolean;
  width?: number;
  /** Before what is kept. */
  first?: (isEmpty: boolean) => ReactNode;
  /** Below the field. */
  note?: ReactNode;
}

export function KeptByName<T extends Named>({ storageKey, label, nameLabel, saveText, forgetText, made, onUse, isUsing = false, width, first, note }: Props<T>) {
  const [kept, setKept] = useLocalStorage<T[]>({ key: storageKey, defaultValue: [] });
  const [name, setName] = useState("");

  async function save() {
    const wanted = name.trim();
    if (wanted === "") return;
    const now = await made(wanted);
    setKept((known) => [...known.filter((one) => one.name !== wanted), now]);
    setName("");
  }

  return (
    <Menu withinPortal>
      <Menu.Target>
        <Button size="xs" variant="default" loading={isUsing}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown maw={width}>
        {first?.(kept.length === 0)}
        {kept.map((one) => (
          <Group key={one.name} gap={0} wrap="nowrap">
            <Menu.Item onClick={() => onUse(one)}>{one.name}</Menu.Item>
            <CloseButton size="sm" aria-label={forgetText(one.name)} onClick={() => setKept((known) => known.filter((other) => other.name !== one.name))} />
          </Group>
        ))}
        <Menu.Divider />
        <Group gap="xs" p="xs" wrap="nowrap">
          <TextInput
            size="xs"
            aria-label={nameLabel}
            placeholder={t`Name`}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Tab" || event.key === "Escape") return; // as in the rest of the menu: it keeps the focus, it closes
              event.stopPropagation(); // the menu would take letters for a search among its items
              if (event.key !== "Enter") return;
              event.preventDefault(); // a form around it is not sent
              void save();
            }}
          />
          <Button size="xs" onClick={() => void save()} disabled={name.trim() === ""}>
            {saveText}
          </Button>
        </Group>
        {note}
      </Menu.Dropdown>
    </Menu>
  );
}
