// SPDX-License-Identifier: Apache-2.0
// Chooses one file: by dropping it, or with the labelled button.
import { t } from "@lingui/core/macro";
import { Button, FileButton, Group, Paper, Stack, Text } from "@mantine/core";
import { type DragEvent, useId, useState } from "react";

import { Icon } from "@/components/display/Icon";
import { bytes } from "@/lib/quantities";

interface Props {
  label: string;
  hint: string;
  accept: string;
  file: File | null;
  onFile: (file: File | null) => void;
  isDisabled?: boolean;
  error?: string | undefined;
}

export function DropZone({ label, hint, accept, file, onFile, isDisabled = false, error }: Props) {
  const [isOver, setOver] = useState(false);
  const id = useId();

  function drop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    const dropped = event.dataTransfer.files[0];
    if (dropped && !isDisabled) onFile(dropped);
  }

  return (
    <Stack gap={4}>
      <Paper
        withBorder
        p="lg"
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
        style={{
          borderStyle: "dashed",
          borderColor: isOver ? "var(--mantine-primary-color-filled)" : "var(--mantine-color-placeholder)",
          background: isOver ? "var(--mantine-primary-color-light)" : undefined,
        }}
      >
        <Stack align="center" gap="xs" ta="center">
          <Icon name={file ? "file" : "upload"} size={24} />
          {file ? (
            <Text size="sm" fw={500} style={{ overflowWrap: "anywhere" }}>
              {file.name} · {bytes(file.size)}
            </Text>
          ) : (
            <Text size="sm">{t`Drop the file here, or choose it.`}</Text>
          )}
          <Group gap="xs">
            <FileButton onChange={onFile} accept={accept} disabled={isDisabled} inputProps={{ "aria-label": label }}>
              {(props) => (
                <Button {...props} variant="default" size="xs" aria-describedby={id}>
                  {file ? t`Choose another file` : t`Choose a file`}
                </Button>
              )}
            </FileButton>
          </Group>
          <Text id={id} size="xs" c="dimmed">
            {hint}
          </Text>
        </Stack>
      </Paper>
      {error && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
    </Stack>
  );
}
