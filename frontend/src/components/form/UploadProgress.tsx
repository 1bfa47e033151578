// SPDX-License-Identifier: Apache-2.0
// How much of an upload has left this computer.
import { Button, Group, Progress, Stack, Text } from "@mantine/core";

import { percent } from "@/lib/quantities";

export function UploadProgress({ fraction, onCancel }: { fraction: number; onCancel: () => void }) {
  const isSent = fraction >= 1;
  return (
    <Stack gap={4}>
      <Progress.Root size="lg">
        <Progress.Section value={fraction * 100} aria-label="Upload" animated={isSent} />
      </Progress.Root>
      <Group justify="space-between">
        <Text size="sm" role="status">
          {isSent ? "Sent. MLHub is storing it…" : `Sending: ${percent(fraction)}`}
        </Text>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onCancel}>
          Cancel the upload
        </Button>
      </Group>
    </Stack>
  );
}
