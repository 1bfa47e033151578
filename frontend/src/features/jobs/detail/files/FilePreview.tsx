// SPDX-License-Identifier: Apache-2.0
// A look at one of a job's files: the beginning of a text, the first rows of a table, or a picture. Nothing of it is read as HTML.
import { t } from "@lingui/core/macro";
import { Code, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { QueryResult } from "@/components/feedback/QueryResult";
import { Dialog } from "@/components/form/Dialog";
import { ScrollTable } from "@/components/table/ScrollTable";
import { bytes } from "@/lib/quantities";

import { HEAD_BYTES, type PreviewKind, readHead, readImage, rowsOf } from "./preview";

interface Props {
  name: string;
  size_bytes: number;
  kind: PreviewKind;
  address: string;
  onClose: () => void;
}

export function FilePreview({ name, size_bytes, kind, address, onClose }: Props) {
  const content = useQuery({
    queryKey: ["artifact-preview", address, size_bytes],
    queryFn: () => (kind === "image" ? readImage(address, name) : readHead(address)),
    staleTime: Infinity,
    gcTime: 0,
  });
  const isWhole = size_bytes <= HEAD_BYTES;
  return (
    <Dialog opened onClose={onClose} title={name} size="xl">
      <QueryResult of={content} label={t`Loading the file`}>
        {(found) => {
          if (kind === "image") return <img src={found} alt={name} style={{ maxWidth: "100%" }} />;
          return kind === "table" ? <Rows rows={rowsOf(found, name, isWhole)} /> : <Head text={found} />;
        }}
      </QueryResult>
      {kind !== "image" && !isWhole && (
        <Text size="xs" c="dimmed" mt="xs">
          {t`From the first ${bytes(HEAD_BYTES)} of ${bytes(size_bytes)}.`}
        </Text>
      )}
    </Dialog>
  );
}

function Head({ text }: { text: string }) {
  if (text === "") return <Text size="sm">{t`The file is empty.`}</Text>;
  return (
    <Code block tabIndex={0} style={{ maxHeight: "60vh", overflow: "auto" }}>
      {text}
    </Code>
  );
}

function Rows({ rows: [head = [], ...rows] }: { rows: string[][] }) {
  if (head.length === 0) return <Text size="sm">{t`The file is empty.`}</Text>;
  return (
    <ScrollTable label={t`First rows`} head={head} minWidth={head.length * 90}>
      {rows.map((row, index) => (
        <Table.Tr key={index}>
          {row.map((cell, column) => (
            <Table.Td key={column}>{cell}</Table.Td>
          ))}
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
