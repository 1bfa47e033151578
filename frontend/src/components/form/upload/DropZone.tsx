// SPDX-License-Identifier: Apache-2.0
// Chooses one file: by dropping it, or with the labelled button. Where it takes folders, one becomes a zip.
import { t } from "@lingui/core/macro";
import { Button, FileButton, Group, Paper, Stack, Text } from "@mantine/core";
import { type ComponentProps, type DragEvent, useId, useState } from "react";

import { Icon } from "@/components/display/Icon";
import { usePacking } from "@/components/form/upload/usePacking";
import { useStrayDrops } from "@/components/form/upload/useStrayDrops";
import { chosenFiles, droppedEntries, filesIn } from "@/lib/folders/walk";
import { bytes } from "@/lib/quantities";

/** Not in React's types. */
const FOLDER_INPUT = { webkitdirectory: "" } as ComponentProps<"input">;

interface Props {
  label: string;
  hint: string;
  accept: string;
  file: File | null;
  /** names: the paths in the zip, of a folder. */
  onFile: (file: File | null, names?: readonly string[]) => void;
  takesFolders?: boolean;
  isDisabled?: boolean;
  error?: string | undefined;
}

export function DropZone({ label, hint, accept, file, onFile, takesFolders = false, isDisabled = false, error }: Props) {
  const [isOver, setOver] = useState(false);
  const [isUnreadable, setUnreadable] = useState(false);
  const { pack, stop, status, problem } = usePacking(onFile);
  const id = useId();
  useStrayDrops();
  const shown = isUnreadable ? t`What was dropped is no file that the browser can read. Choose it with the button instead.` : (error ?? problem);

  function take(chosen: File | null) {
    stop();
    setUnreadable(false);
    onFile(chosen);
  }

  function packFolder(found: Parameters<typeof pack>[0]) {
    setUnreadable(false);
    pack(found);
  }

  function drop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    if (isDisabled) return;
    const entries = takesFolders ? droppedEntries(event.dataTransfer) : [];
    const dropped = event.dataTransfer.files[0];
    if (entries.length > 1 || entries.some((entry) => entry.isDirectory)) packFolder(filesIn(entries));
    else if (dropped) take(dropped);
    else setUnreadable(true);
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
          <Text size="sm" {...(status && { role: "status" })} {...(file && { fw: 500 })} style={{ overflowWrap: "anywhere" }}>
            {file ? `${file.name} · ${bytes(file.size)}` : (status ?? dropText(takesFolders))}
          </Text>
          <Group gap="xs">
            <FileButton onChange={take} accept={accept} disabled={isDisabled} inputProps={{ "aria-label": label }}>
              {(props) => (
                <Button {...props} variant="default" size="xs" aria-describedby={id}>
                  {file ? t`Choose another file` : t`Choose a file`}
                </Button>
              )}
            </FileButton>
            {takesFolders && (
              <FileButton
                multiple
                onChange={(files) => files.length > 0 && packFolder(chosenFiles(files))}
                disabled={isDisabled}
                inputProps={{ ...FOLDER_INPUT, "aria-label": t`Folder` }}
              >
                {(props) => (
                  <Button {...props} variant="default" size="xs" aria-describedby={id}>
                    {t`Choose a folder`}
                  </Button>
                )}
              </FileButton>
            )}
          </Group>
          <Text id={id} size="xs" c="dimmed">
            {hint}
          </Text>
        </Stack>
      </Paper>
      {shown && (
        <Text size="xs" c="red" role="alert">
          {shown}
        </Text>
      )}
    </Stack>
  );
}

function dropText(takesFolders: boolean): string {
  return takesFolders ? t`Drop a file or a folder here, or choose it.` : t`Drop the file here, or choose it.`;
}
