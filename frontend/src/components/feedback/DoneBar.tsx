// SPDX-License-Identifier: Apache-2.0
// What was done, with the button that takes it back. It stays until it is used or closed.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ProblemAlert } from "./ProblemAlert";

interface Props<T> {
  text: string;
  takeBack: () => Promise<T>;
  /** It was tried: what is shown may be another, whether it failed or not. */
  onTried?: () => void;
  onTaken: (outcome: T) => void;
  onClose: () => void;
  /** What came of taking it back, where that is shown; then there is nothing left to undo. */
  children?: (outcome: NonNullable<T>) => ReactNode;
}

export function DoneBar<T>({ text, takeBack, onTried, onTaken, onClose, children }: Props<T>) {
  const undo = useMutation({ mutationFn: takeBack, ...(onTried && { onSettled: onTried }), onSuccess: onTaken });
  return (
    <Paper withBorder p="xs" role="region" aria-label={t`What was done`}>
      <Group gap="xs">
        <Text size="sm" role="status">
          {text}
        </Text>
        {undo.data == null && (
          <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate()}>
            {t`Undo`}
          </Button>
        )}
        <Button size="xs" variant="subtle" onClick={onClose}>
          {t`Close`}
        </Button>
      </Group>
      {undo.data != null && children?.(undo.data)}
      <ProblemAlert error={undo.error} />
    </Paper>
  );
}
