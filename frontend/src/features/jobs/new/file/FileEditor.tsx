// SPDX-License-Identifier: Apache-2.0
// The settings as a job file. They are taken over as one types, once they can be read; what is wrong is said below, all at once.
import { t } from "@lingui/core/macro";
import { Button, Group, List, Stack, Text, Textarea } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useRef, useState } from "react";

import type { JobSubmit } from "@/api/types";
import { saveText } from "@/lib/download";

import type { Draft } from "../draft";
import { fileText, readFile } from "./jobFile";

const SETTLED_MS = 300;

interface Props {
  request: JobSubmit;
  onDraft: (draft: Draft) => void;
  /** Whether what is typed is what the draft says. */
  onSettled: (isSettled: boolean) => void;
}

export function FileEditor({ request, onDraft, onSettled }: Props) {
  const [text, setText] = useState(() => fileText(request));
  const [problems, setProblems] = useState<readonly string[]>([]);
  const newest = useRef(text);
  const read = useDebouncedCallback(async (typed: string) => {
    const found = await readFile(typed).catch((error: unknown) => ({ problems: [String(error)] }));
    if (newest.current !== typed) return;
    setProblems(found.problems);
    if (!("draft" in found)) return;
    onDraft(found.draft);
    onSettled(true);
  }, SETTLED_MS);

  function change(typed: string) {
    newest.current = typed;
    setText(typed);
    onSettled(false);
    read(typed);
  }

  return (
    <Stack gap="xs">
      <Textarea
        label={t`Job file (YAML)`}
        description={t`The fields of POST /api/v1/jobs; datasets and models by name or id. mlhub run takes the same file.`}
        rows={18}
        resize="vertical"
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
        error={problems.length > 0}
      />
      {problems.length > 0 && (
        <List size="sm" role="alert" c="var(--mantine-color-error)">
          {problems.map((problem) => (
            <List.Item key={problem}>{problem}</List.Item>
          ))}
        </List>
      )}
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {t`The form shows the same settings; what it has no input for is kept.`}
        </Text>
        <Button size="xs" variant="default" onClick={() => saveText("job.yaml", text, "application/yaml")}>
          {t`Save as job.yaml`}
        </Button>
      </Group>
    </Stack>
  );
}
