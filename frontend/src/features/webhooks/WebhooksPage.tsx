// SPDX-License-Identifier: Apache-2.0
// An organisation's webhooks: where MLHub tells of what happened, and what came of it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import { isStaff, useMe, useOrganisations } from "@/api/session";
import type { Organisation } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Page } from "@/components/layout/Page";
import { NewWebhook } from "@/features/webhooks/NewWebhook";
import { WebhookCard } from "@/features/webhooks/WebhookCard";
import { webhooksQuery } from "@/features/webhooks/queries";

export function WebhooksPage() {
  const me = useMe();
  const [parameters, setParameters] = useSearchParams();
  const organisations = useOrganisations().filter(({ role }) => isStaff(me) || role === "admin" || role === "owner");
  const chosen = organisations.find(({ id }) => id === parameters.get("organisation")) ?? organisations[0];
  return (
    <Page title={t`Webhooks`} subtitle={t`Your own programs and chat rooms are notified when something happens here.`}>
      {chosen === undefined && (
        <EmptyState title={t`For admins of an organisation`} text={t`Ask an owner of yours for the role admin.`} />
      )}
      {organisations.length > 1 && (
        <NativeSelect
          label={t`Organisation`}
          maw={360}
          value={chosen?.id}
          onChange={(event) => setParameters({ organisation: event.currentTarget.value })}
          data={organisations.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {chosen && <Webhooks key={chosen.id} organisation={chosen} />}
    </Page>
  );
}

function Webhooks({ organisation }: { organisation: Organisation }) {
  const webhooks = useQuery(webhooksQuery(organisation.id));
  return (
    <>
      <NewWebhook organisationId={organisation.id} />
      <QueryResult of={webhooks}>
        {(found) =>
          found.length === 0 ? (
            <EmptyState title={t`No webhooks yet`} />
          ) : (
            <>
              {found.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} organisationId={organisation.id} />
              ))}
            </>
          )
        }
      </QueryResult>
      <Text size="sm" c="dimmed">
        <Trans>
          Deliveries are CloudEvents, signed as{" "}
          <Anchor href="https://www.standardwebhooks.com" target="_blank" rel="noreferrer" inherit underline="always">
            Standard Webhooks
          </Anchor>{" "}
          says; the header webhook-id is the same when one is sent again.
        </Trans>
      </Text>
    </>
  );
}
