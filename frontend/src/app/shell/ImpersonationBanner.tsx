// SPDX-License-Identifier: Apache-2.0
// While an administrator sees MLHub as a user: as whom, until when, and the way back. At the end of the time the page loads anew.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";

import { api, unwrap } from "@/api/client";
import type { Me } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { loadPage } from "@/lib/fullLoad";
import { clock } from "@/lib/time";

const LATER_MS = 1000; // than the end, so that the server has seen it, too

export function ImpersonationBanner({ me }: { me: Me }) {
  const endsAt = me.impersonation?.ends_at;
  const end = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/impersonation/end")),
    onSuccess: () => loadPage("/users"),
  });
  useEffect(() => {
    if (endsAt === undefined) return undefined;
    const timer = setTimeout(() => loadPage("/users"), Math.max(0, Date.parse(endsAt) - Date.now()) + LATER_MS);
    return () => clearTimeout(timer);
  }, [endsAt]);
  if (me.impersonation === null) return null;
  return (
    <Alert color="orange" role="status" icon={<Icon name="user" />} title={t`You see MLHub as ${me.username}`}>
      <Group justify="space-between" gap="sm">
        <Text size="sm">
          <Trans>
            You are signed in as {me.impersonation.by}. Until {clock(me.impersonation.ends_at)} you read what {me.username} reads, and change
            nothing; begin and end are in the audit.
          </Trans>
        </Text>
        <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
          {t`End`}
        </Button>
      </Group>
      <ProblemAlert error={end.error} />
    </Alert>
  );
}
