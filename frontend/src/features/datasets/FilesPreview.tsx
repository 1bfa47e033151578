// SPDX-License-Identifier: Apache-2.0
// The files of a dataset for scripts: how many of each kind, and the first ones by name.
import { plural, t } from "@lingui/core/macro";
import { Group, Stack, Table, Text } from "@mantine/core";

import { ScrollTable } from "@/components/table/ScrollTable";
import type { Preview } from "@/features/datasets/preview";
import { bytes, number } from "@/lib/quantities";

type Files = Extract<Preview, { kind: "files" }>;

export function FilesPreview({ files, n_files, suffixes }: Files) {
  const left = n_files - files.length;
  return (
    <Stack gap="sm">
      <Group component="ul" gap="lg" m={0} p={0} style={{ listStyle: "none" }} aria-label={t`Kinds of files`}>
        {suffixes.map(({ suffix, n_files: n, size_bytes }) => (
          <Text component="li" key={suffix} size="sm">
            <Text span ff="monospace">
              {suffix || t`no suffix`}
            </Text>{" "}
            <Text span c="dimmed">{t`${number(n)}, ${bytes(size_bytes)}`}</Text>
          </Text>
        ))}
      </Group>
      <ScrollTable label={t`Preview`} head={[t`File`, t`Size`]} minWidth={300}>
        {files.map(({ name, size_bytes }) => (
          <Table.Tr key={name}>
            <Table.Td ff="monospace" style={{ overflowWrap: "anywhere" }}>
              {name || t`the file`}
            </Table.Td>
            <Table.Td>{bytes(size_bytes)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      {left > 0 && (
        <Text size="sm" c="dimmed">
          {plural(left, { one: "and # more file", other: "and # more files" })}
        </Text>
      )}
    </Stack>
  );
}
