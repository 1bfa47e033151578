// SPDX-License-Identifier: Apache-2.0
// A small sample of a dataset: rows, pictures, clips or lines.
import { t } from "@lingui/core/macro";
import { Badge, Box, Group, Paper, Stack, Table, Text } from "@mantine/core";
import { Suspense } from "react";

import { Loading } from "@/components/feedback/Loading";
import { ScrollTable } from "@/components/table/ScrollTable";
import { FilesPreview } from "@/features/datasets/FilesPreview";
import type { Preview } from "@/features/datasets/preview";
import { lazyComponent } from "@/lib/chunk";

const AudioPreview = lazyComponent(async () => (await import("./audio/AudioPreview")).AudioPreview);

const COLUMN_WIDTH = 90;

export function PreviewView({ preview, versionId }: { preview: Preview; versionId: string }) {
  switch (preview.kind) {
    case "table":
      return (
        <ScrollTable label={t`Preview`} head={preview.columns} minWidth={preview.columns.length * COLUMN_WIDTH}>
          {preview.rows.map((row, index) => (
            <Table.Tr key={index}>
              {row.map((cell, column) => (
                <Table.Td key={column} maw={240} style={{ overflowWrap: "anywhere" }}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </ScrollTable>
      );
    case "images":
      return (
        <Group component="ul" gap="sm" p={0} m={0} style={{ listStyle: "none" }}>
          {preview.images.map(({ label, png_base64 }, index) => (
            <Stack component="li" key={index} gap={2} align="center">
              <Box
                component="img"
                src={`data:image/png;base64,${png_base64}`}
                alt={t`Example of ${label}`}
                w={72}
                h={72}
                style={{ imageRendering: "pixelated", objectFit: "contain", borderRadius: 4 }}
              />
              <Text size="xs" c="dimmed">
                {label}
              </Text>
            </Stack>
          ))}
        </Group>
      );
    case "audio":
      return (
        <Suspense fallback={<Loading label={t`Loading the clips`} />}>
          <AudioPreview versionId={versionId} clips={preview.clips} />
        </Suspense>
      );
    case "files":
      return <FilesPreview {...preview} />;
    case "text":
      return (
        <Paper withBorder p="sm">
          <Stack component="ol" gap="xs" m={0} p={0} style={{ listStyle: "none" }}>
            {preview.lines.map(({ label, text }, index) => (
              <Group component="li" key={index} gap="xs" align="flex-start" wrap="nowrap">
                {label !== undefined && <Badge>{label}</Badge>}
                <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
                  {text}
                </Text>
              </Group>
            ))}
          </Stack>
        </Paper>
      );
  }
}
