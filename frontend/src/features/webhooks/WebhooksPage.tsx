// SPDX-License-Identifier: Apache-2.0
// An organisation's webhooks: where MLHub tells of what happened, and what came of it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";

import { organisationChoices, useChosenOrFirst } from "@/api/choices";
import { LEADING } from "@/api/session";
import type { Organisation } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { Page } from "@/components/layout/Page";
import { NewWebhook } from "@/features/webhooks/NewWebhook";
import { WebhookCard } from "@/features/webhooks/WebhookCard";
import { webhooksQuery } from "@/features/webhooks/queries";

export function WebhooksPage() {
  const [parameters, setParameters] = useSearchParams();
  const { chosen, items: organisations, list } = useChosenOrFirst(organisationChoices(LEADING), parameters.get("organisation") ?? "");
  return (
    <Page title={t`Webhooks`} subtitle={t`Your own programs and chat rooms are notified when something happens here.`}>
      <QueryResult of={list} label={t`Loading the organisations`}>
        {() => null}
      </QueryResult>
      {organisations?.length === 0 && (
        <EmptyState
          title={t`For admins of an organisation`}
          text={t`Ask an owner of yours for the role admin.`}
          action={
            <Button component={Link} to="/members">
              {t`Members`}
            </Button>
          }
        />
      )}
      {organisations !== undefined && organisations.length > 1 && (
        <OrganisationSelect
          roles={LEADING}
          maw={360}
          value={chosen?.id ?? ""}
          onChange={(organisation) => setParameters({ organisation })}
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
            <EmptyState title={t`No webhooks yet`} text={t`Enter the address of a program or a chat room above.`} />
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
