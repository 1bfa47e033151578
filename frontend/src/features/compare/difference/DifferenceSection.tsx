// SPDX-License-Identifier: Apache-2.0
// Two jobs: the settings that differ, and their code as diffs, from the first to the second.
import { plural, t } from "@lingui/core/macro";
import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { JobDifference } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";

import { type ComparedJob, differenceQuery } from "../queries";
import classes from "./DifferenceSection.module.css";

type Code = JobDifference["code"];
type CodeFile = Code["files"][number];

interface Props {
  before: ComparedJob;
  after: ComparedJob;
}

export function DifferenceSection({ before, after }: Props) {
  const difference = useQuery(differenceQuery(before.id, after.id));
  return (
    <Section title={t`From ${before.name} to ${after.name}`}>
      <QueryResult of={difference} label={t`Loading the differences`}>
        {({ settings, code }) => (
          <Stack gap="md">
            {settings.length === 0 ? (
              <Text size="sm">{t`The jobs have the same settings.`}</Text>
            ) : (
              <ScrollTable label={t`Settings`} head={[t`Setting`, before.name, after.name]} minWidth={360}>
                {settings.map(({ name, before: old, after: new_ }) => (
                  <Table.Tr key={name}>
                    <Table.Th scope="row">{name}</Table.Th>
                    <Table.Td>{shown(old)}</Table.Td>
                    <Table.Td>{shown(new_)}</Table.Td>
                  </Table.Tr>
                ))}
              </ScrollTable>
            )}
            <CodeFiles code={code} />
          </Stack>
        )}
      </QueryResult>
    </Section>
  );
}

function CodeFiles({ code: { files, n_left_out: nLeftOut, note } }: { code: Code }) {
  return (
    <Section title={t`Code`} order={3}>
      {files.length === 0 && <Text size="sm">{note || t`The jobs ran the same code.`}</Text>}
      {files.map((file) => (
        <File key={file.path} file={file} />
      ))}
      {nLeftOut > 0 && <Text size="sm">{t`${plural(nLeftOut, { one: "# more file", other: "# more files" })} differ.`}</Text>}
    </Section>
  );
}

/** Its lines are drawn once it is opened. */
function File({ file: { path, change, diff, note } }: { file: CodeFile }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className={classes.file} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        {path} <Text span inherit c="dimmed">{`(${change})`}</Text>
      </summary>
      {isOpen && (
        <>
          {diff !== "" && (
            <pre className={classes.diff} tabIndex={0} aria-label={t`Differences of ${path}`}>
              {linesOf(diff).map((line, index) => (
                <span key={index} className={`${classes.line ?? ""} ${classOf(line) ?? ""}`}>
                  {line}
                </span>
              ))}
            </pre>
          )}
          <Text size="xs" c="dimmed" px="sm" py={4}>
            {note || (diff === "" ? t`The file is empty.` : "")}
          </Text>
        </>
      )}
    </details>
  );
}

function linesOf(diff: string): string[] {
  return diff.replace(/\n$/, "").split("\n");
}

function classOf(line: string): string | undefined {
  if (line.startsWith("@@")) return classes.place;
  if (line.startsWith("+")) return classes.added;
  return line.startsWith("-") ? classes.removed : undefined;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value || "–" : JSON.stringify(value);
}
