// SPDX-License-Identifier: Apache-2.0
// The packages that code requires: the state of their build, why it failed, what was installed, and the log.
import { t } from "@lingui/core/macro";
import { Button, Code, Collapse, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { environmentLogQuery, environmentQuery } from "@/api/environments";
import type { EnvironmentBrief } from "@/api/types";
import { ENVIRONMENT_STATES } from "@/domain/states/environmentState";
import { bytes } from "@/lib/quantities";

import { EnvironmentActions } from "./EnvironmentActions";
import { StateBadge } from "@/components/display/StateBadge";

interface Props {
  environment: EnvironmentBrief;
  /** Whether the log is open at first. */
  isLogShown?: boolean;
  /** Whether it can be deleted here, too. */
  mayDelete?: boolean;
  onDeleted?: () => void;
}

export function EnvironmentStatus({ environment, isLogShown = false, ...deletion }: Props) {
  const [isOpen, setOpen] = useState(isLogShown);
  const { data } = useQuery(environmentQuery(environment.id));
  const { state, origin, size_bytes } = data ?? environment;
  return (
    <Stack component="section" gap={6} aria-label={t`Packages`}>
      <Group gap="xs">
        <Text size="sm" fw={500}>
          {t`Packages of ${origin}`}
        </Text>
        <StateBadge {...ENVIRONMENT_STATES[state]} />
        <Text size="xs" c="dimmed">
          {state === "ready" && (size_bytes === 0 ? t`The platform has them all.` : bytes(size_bytes))}
        </Text>
        <Button variant="subtle" size="compact-xs" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? t`Hide the log` : t`Show the log`}
        </Button>
        {data && <EnvironmentActions environment={data} {...deletion} />}
      </Group>
      {data && data.packages.length > 0 && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          {data.packages.map(({ name, version }) => `${name} ${version}`).join(", ")}
        </Text>
      )}
      {data?.error && (
        <Text size="sm" c="red" role="alert" style={{ overflowWrap: "anywhere" }}>
          {data.error.message} {data.error.remedy}
        </Text>
      )}
      <Collapse expanded={isOpen} keepMounted={false}>
        <Log id={environment.id} isBuilding={state === "building"} />
      </Collapse>
    </Stack>
  );
}

function Log({ id, isBuilding }: { id: string; isBuilding: boolean }) {
  const { data } = useQuery(environmentLogQuery(id, isBuilding));
  return (
    <Code
      block
      tabIndex={0}
      role="region"
      aria-label={t`Log of the build`}
      style={{ maxHeight: "24rem", overflow: "auto", whiteSpace: "pre-wrap" }}
    >
      {data?.log || t`Nothing yet.`}
    </Code>
  );
}
