// SPDX-License-Identifier: Apache-2.0
// Two cells of a row whose name is being changed: the field, and keeping or saving.
import { t } from "@lingui/core/macro";
import { Button, Group, Table, TextInput } from "@mantine/core";

interface Props {
  label: string;
  value: string;
  onChange: (name: string) => void;
  error: string | undefined;
  isSaving: boolean;
  onKeep: () => void;
  onSave: (name: string) => void;
}

export function RenameCells({ label, value, onChange, error, isSaving, onKeep, onSave }: Props) {
  const name = value.trim();
  return (
    <>
      <Table.Td>
        <TextInput aria-label={label} value={value} maxLength={100} onChange={(event) => onChange(event.currentTarget.value)} error={error} />
      </Table.Td>
      <Table.Td colSpan={2}>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Button size="xs" variant="default" onClick={onKeep}>
            {t`Keep the name`}
          </Button>
          <Button size="xs" loading={isSaving} disabled={name === ""} onClick={() => onSave(name)}>
            {t`Save`}
          </Button>
        </Group>
      </Table.Td>
    </>
  );
}
