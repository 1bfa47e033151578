// SPDX-License-Identifier: Apache-2.0
// The command that brings a machine into the cluster, with its token, shown once.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Code, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { SecretOnce } from "@/components/display/SecretOnce";
import { agentsQuery } from "@/features/cluster/machines/queries";

interface Props {
  name: string;
  token: string;
  /** The platform's address as the reader reaches it. */
  server?: string;
  onDone: () => void;
}

export function AgentCommand({ name, token, server = window.location.origin, onDone }: Props) {
  const version = useQuery(agentsQuery).data?.version ?? "";
  return (
    <SecretOnce
      title={t`Run this on ${name}`}
      text={
        <Stack gap="xs" component="span">
          <span>{t`Copy it now: the token in it is shown only this once, and is that machine's alone.`}</span>
          <span>
            <Trans>
              MLHub {version} has to be installed there, with the platform's version of Python: <Code>pip install '.[agent]'</Code> in its
              checkout.
            </Trans>
          </span>
          {isLocal(server) && (
            <Text span size="sm" fw={600}>
              {t`${server} leads to this machine alone. Put an address in its place at which ${name} reaches the platform (MLHUB_HOST).`}
            </Text>
          )}
        </Stack>
      }
      // oxlint-disable-next-line lingui/no-unlocalized-strings -- what is typed into a shell
      secret={`MLHUB_AGENT_TOKEN=${token} mlhub agent run --server ${server}`}
      label={t`The command`}
      onDone={onDone}
    />
  );
}

function isLocal(server: string): boolean {
  const { hostname } = new URL(server);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
