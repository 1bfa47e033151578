// SPDX-License-Identifier: Apache-2.0
// A secret that the API shows once: to copy, then to put away.
import { t } from "@lingui/core/macro";
import { Alert, Button, Code, CopyButton, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  text: ReactNode;
  secret: string;
  /** What the secret is, for screen readers. */
  label: string;
  onDone: () => void;
}

export function SecretOnce({ title, text, secret, label, onDone }: Props) {
  return (
    <Alert color="teal" role="status" title={title}>
      <Stack gap="xs">
        <Text size="sm">{text}</Text>
        <Code block aria-label={label} style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>
          {secret}
        </Code>
        <Group gap="xs">
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button size="xs" onClick={copy}>
                {copied ? t`Copied` : t`Copy`}
              </Button>
            )}
          </CopyButton>
          <Button size="xs" variant="default" onClick={onDone}>
            {t`I have it`}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
