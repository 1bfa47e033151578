// SPDX-License-Identifier: Apache-2.0
// How much of an upload has left this computer, and when the rest will have.
import { t } from "@lingui/core/macro";
import { Button, Group, Progress, Stack, Text } from "@mantine/core";

import { ConfirmButton } from "@/components/form/ConfirmButton";
import { bytes } from "@/lib/quantities";
import { duration } from "@/lib/time";
import type { Transfer } from "@/lib/transfer";

interface Props {
  transfer: Transfer;
  isPaused: boolean;
  /** Undefined where the upload cannot be paused. */
  pausing: { pause: () => void; resume: () => void } | undefined;
  onCancel: () => void;
}

export function UploadProgress({ transfer, isPaused, pausing, onCancel }: Props) {
  const { sent, total } = transfer;
  const isSent = total > 0 && sent >= total;
  return (
    <Stack gap={4}>
      <Progress.Root size="lg">
        <Progress.Section value={total > 0 ? (100 * sent) / total : 0} aria-label={t`Upload`} animated={isSent} />
      </Progress.Root>
      <Group justify="space-between">
        <Text size="sm" role="status">
          {words(transfer, isSent, isPaused)}
        </Text>
        <Group gap="xs">
          {pausing && !isSent && (
            <Button size="compact-sm" variant="default" onClick={isPaused ? pausing.resume : pausing.pause}>
              {isPaused ? t`Resume` : t`Pause`}
            </Button>
          )}
          <ConfirmButton
            label={t`Cancel the upload`}
            size="compact-sm"
            title={t`Cancel the upload?`}
            text={pausing ? t`${bytes(sent)} that have left this computer are removed. Paused, it can go on later.` : t`${bytes(sent)} that have left this computer are removed.`}
            dismiss={t`Go on`}
            action={() => {
              onCancel();
              return Promise.resolve();
            }}
          />
        </Group>
      </Group>
    </Stack>
  );
}

function words({ sent, total, secondsLeft }: Transfer, isSent: boolean, isPaused: boolean): string {
  if (isSent) return t`Sent. MLHub is storing it…`;
  const done = total > 0 ? t`${bytes(sent)} of ${bytes(total)}` : t`the first bytes`;
  if (isPaused) return t`Paused: ${done}`;
  return secondsLeft === undefined ? t`Sending: ${done}` : t`Sending: ${done}, ${duration(secondsLeft)} left`;
}
