// SPDX-License-Identifier: Apache-2.0
// Files of two archives that came, went or changed.
import { t } from "@lingui/core/macro";
import { Badge, Table, Text } from "@mantine/core";

import type { VersionDifference } from "@/api/types";
import { ScrollTable } from "@/components/table/ScrollTable";
import { CHANGES } from "@/features/datasets/differences/changes";
import { bytes, number } from "@/lib/quantities";

export function FileDifferences({ difference }: { difference: VersionDifference }) {
  const { files, file_counts: counts, n_files_left_out: nLeftOut } = difference;
  if (counts === null) return null;
  return (
    <>
      <Text size="sm">
        {t`Files in the archive: ${number(counts.n_added)} added, ${number(counts.n_removed)} removed, ${number(counts.n_changed)} changed, ${number(counts.n_same)} the same.`}
      </Text>
      {files.length > 0 && (
        <ScrollTable label={t`Files that differ`} head={[t`File`, "", t`Size`]} minWidth={360}>
          {files.map(({ path, change, size_before, size_after }) => (
            <Table.Tr key={path}>
              <Table.Th scope="row" style={{ overflowWrap: "anywhere" }}>
                {path}
              </Table.Th>
              <Table.Td>
                <Badge color={CHANGES[change].color}>{CHANGES[change].label}</Badge>
              </Table.Td>
              <Table.Td>{change === "changed" ? `${bytes(size_before)} → ${bytes(size_after)}` : bytes(size_after ?? size_before)}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
      {nLeftOut > 0 && <Text size="sm">{t`and ${number(nLeftOut)} more.`}</Text>}
    </>
  );
}
