// SPDX-License-Identifier: Apache-2.0
// A button whose act asks first: it cannot be undone, or it changes what others get. It stays open while it runs, shows why it was refused.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";

interface Props {
  /** On the button, and again on the dialogue's. */
  label: string;
  title: string;
  text: ReactNode;
  action: () => Promise<unknown>;
  size?: "xs" | "sm" | "compact-xs" | "compact-sm";
  ariaLabel?: string;
  /** Red unless nothing is lost by it. */
  color?: "red" | "blue";
  /** The button that leaves all as it is. */
  dismiss?: string;
}

export function ConfirmButton({ label, title, text, action, size = "xs", ariaLabel, color = "red", dismiss = t`Keep it` }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const act = useMutation({ mutationFn: action, onSuccess: close });
  return (
    <>
      {/* red words on a quiet ground: a table may have one in every row */}
      <Button {...(color === "red" ? { variant: "default", c: "var(--mantine-color-error)" } : { variant: "light", color })} size={size} onClick={open} aria-label={ariaLabel}>
        {label}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={title}>
        <Stack>
          <Text size="sm" component="div">
            {text}
          </Text>
          <ProblemAlert error={act.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              {dismiss}
            </Button>
            <Button color={color} loading={act.isPending} onClick={() => act.mutate()}>
              {label}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}
