// SPDX-License-Identifier: Apache-2.0
// Organisations that invite the user, who becomes a member by accepting.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { MyInvitation } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { myInvitationsQuery } from "@/features/members/queries";

export function MyInvitations() {
  const invitations = useQuery(myInvitationsQuery);
  return (
    <Stack gap="sm">
      <ProblemAlert error={invitations.error} onRetry={() => void invitations.refetch()} />
      {invitations.data?.map((invitation) => (
        <Waiting key={invitation.id} invitation={invitation} />
      ))}
    </Stack>
  );
}

function Waiting({ invitation }: { invitation: MyInvitation }) {
  const queries = useQueryClient();
  const answer = useMutation({
    mutationFn: (isAccepted: boolean): Promise<unknown> => {
      const params = { path: { id: invitation.id } };
      return isAccepted
        ? unwrap(api.POST("/api/v1/invitations/{id}/accept", { params }))
        : unwrap(api.POST("/api/v1/invitations/{id}/decline", { params }));
    },
    onSuccess: () => queries.invalidateQueries(), // another organisation's jobs, data and models may be seen now
  });
  const { organisation, role, invited_by, expires_at } = invitation;
  return (
    <Alert color="blue" title={t`${organisation.name} invites you as ${role}`} role="status">
      <Stack gap="xs">
        <Text size="sm">
          <Trans>
            {invited_by && t`Sent by ${invited_by.username}. `}It expires <RelativeTime at={expires_at} />.
          </Trans>
        </Text>
        <ProblemAlert error={answer.error} />
        <Group gap="xs">
          <Button size="xs" loading={answer.isPending} onClick={() => answer.mutate(true)}>
            {t`Accept`}
          </Button>
          <Button size="xs" variant="default" disabled={answer.isPending} onClick={() => answer.mutate(false)}>
            {t`Decline`}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
