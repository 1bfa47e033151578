// SPDX-License-Identifier: Apache-2.0
// Organisations that invite the user, who becomes a member by accepting.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { MyInvitation } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { myInvitationsQuery } from "@/features/members/queries";

const MOST_AT_ONCE = 3; // the rest of the page is below them

export function MyInvitations() {
  const invitations = useQuery(myInvitationsQuery);
  const [isWhole, { open: showAll }] = useDisclosure(false);
  const all = invitations.data ?? [];
  const shown = isWhole || all.length <= MOST_AT_ONCE + 1 ? all : all.slice(0, MOST_AT_ONCE);
  return (
    <Stack gap="sm">
      <ProblemAlert error={invitations.error} onRetry={() => void invitations.refetch()} />
      {shown.map((invitation) => (
        <Waiting key={invitation.id} invitation={invitation} />
      ))}
      {shown.length < all.length && (
        <Button variant="subtle" size="xs" style={{ alignSelf: "flex-start" }} onClick={showAll}>
          {t`Show all ${all.length} invitations`}
        </Button>
      )}
    </Stack>
  );
}

function Waiting({ invitation }: { invitation: MyInvitation }) {
  const queries = useQueryClient();
  const params = { path: { id: invitation.id } };
  const accept = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/invitations/{id}/accept", { params })),
    onSuccess: () => queries.invalidateQueries(), // another organisation's jobs, data and models may be seen now
  });

  async function decline() {
    await unwrap(api.POST("/api/v1/invitations/{id}/decline", { params }));
    await queries.invalidateQueries();
  }

  const { organisation, role, invited_by, expires_at } = invitation;
  return (
    <Alert color="blue" title={t`${organisation.name} invites you as ${role}`} role="status">
      <Stack gap="xs">
        <Text size="sm">
          <Trans>
            {invited_by && t`Sent by ${invited_by.username}. `}It expires <RelativeTime at={expires_at} />.
          </Trans>
        </Text>
        <ProblemAlert error={accept.error} />
        <Group gap="xs">
          <Button size="xs" loading={accept.isPending} onClick={() => accept.mutate()}>
            {t`Accept`}
          </Button>
          <ConfirmButton
            label={t`Decline`}
            ariaLabel={t`Decline the invitation of ${organisation.name}`}
            title={t`Decline the invitation of ${organisation.name}?`}
            text={t`It is gone for good. To join later you need another invitation.`}
            action={decline}
          />
        </Group>
      </Stack>
    </Alert>
  );
}
