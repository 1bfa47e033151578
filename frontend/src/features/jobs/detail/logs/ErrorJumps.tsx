// SPDX-License-Identifier: Apache-2.0
// How many lines of the log hold an error, and buttons that go to the first, the previous and the next of them.
import { plural, t } from "@lingui/core/macro";
import { ActionIcon, Button, Group, Text } from "@mantine/core";

export type Jump = "first" | "previous" | "next";

interface Props {
  nErrors: number;
  isBusy: boolean;
  /** There was none in that direction. */
  hasNone: Jump | null;
  onJump: (jump: Jump) => void;
}

export function ErrorJumps({ nErrors, isBusy, hasNone, onJump }: Props) {
  if (nErrors === 0) {
    return (
      <Text size="xs" c="dimmed" mt={5}>
        {t`No errors`}
      </Text>
    );
  }
  return (
    <Group gap={4} wrap="nowrap">
      <Button size="compact-xs" variant="default" disabled={isBusy} onClick={() => onJump("first")}>
        {t`First error`}
      </Button>
      <ActionIcon size={22} variant="default" aria-label={t`Previous error`} disabled={isBusy} onClick={() => onJump("previous")}>
        <span aria-hidden="true">↑</span>
      </ActionIcon>
      <ActionIcon size={22} variant="default" aria-label={t`Next error`} disabled={isBusy} onClick={() => onJump("next")}>
        <span aria-hidden="true">↓</span>
      </ActionIcon>
      <Text size="xs" c="dimmed" role="status" ml={4}>
        {hasNone === null
          ? t`${plural(nErrors, { one: "# line with an error", other: "# lines with errors" })}`
          : hasNone === "previous"
            ? t`No earlier error`
            : t`No later error`}
      </Text>
    </Group>
  );
}
