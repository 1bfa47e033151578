// SPDX-License-Identifier: Apache-2.0
// A look at one of a job's files: the beginning of a text, the first rows of a table, or a picture. Nothing of it is read as HTML.
import { t } from "@lingui/core/macro";
import { Code, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

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
    queryFn: () => (kind === "image" ? readImage(address, name) : readHead(address, size_bytes)),
    staleTime: Infinity,
    gcTime: 0,
  });
  const isWhole = size_bytes <= HEAD_BYTES;
  return (
    <Dialog opened onClose={onClose} title={name} size="xl">
      <QueryResult of={content} label={t`Loading the file`}>
        {(found) => {
          if (kind === "image") return <Picture source={found} name={name} />;
          const rows = kind === "table" ? rowsOf(found, name, isWhole) : [];
          return rows.length > 0 ? <Rows rows={rows} /> : <Head text={found} />;
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

function Picture({ source, name }: { source: string; name: string }) {
  const [isUnreadable, setUnreadable] = useState(false);
  if (isUnreadable) return <Text size="sm">{t`The file is no picture, despite its name. Download it to see what it is.`}</Text>;
  return <img src={source} alt={name} style={{ maxWidth: "100%" }} onError={() => setUnreadable(true)} />;
}

function Rows({ rows: [head = [], ...rows] }: { rows: string[][] }) {
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
