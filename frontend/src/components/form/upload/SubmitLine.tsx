// SPDX-License-Identifier: Apache-2.0
// The button that sends a form, and what still has to be given while it cannot be sent.
import { Button, Group, Text } from "@mantine/core";
import { useId } from "react";

interface Props {
  label: string;
  /** As a sentence; "": nothing. */
  missing: string;
  isSending: boolean;
}

export function SubmitLine({ label, missing, isSending }: Props) {
  const hint = useId();
  return (
    <Group justify="flex-end">
      {missing !== "" && (
        <Text id={hint} size="sm" c="dimmed">
          {missing}
        </Text>
      )}
      <Button type="submit" loading={isSending} disabled={missing !== ""} aria-describedby={missing === "" ? undefined : hint}>
        {label}
      </Button>
    </Group>
  );
}
