// SPDX-License-Identifier: Apache-2.0
// How much each organisation may use and uses: staff may change it, everyone else sees their own.
import { t } from "@lingui/core/macro";
import { Button, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { Link, useSearchParams } from "react-router";

import { choicesQuery, organisationChoices } from "@/api/choices";
import { isStaff, seenOrganisations, useMe } from "@/api/session";
import type { OrganisationBrief } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Loading } from "@/components/feedback/Loading";
import { QueryResult } from "@/components/feedback/QueryResult";
import { RoleNeeded } from "@/components/feedback/RoleNeeded";
import { OrganisationSelect } from "@/components/form/choice/OrganisationSelect";
import { Page } from "@/components/layout/Page";
import { QuotaTree } from "@/features/quotas/QuotaTree";
import { Usage } from "@/features/quotas/Usage";
import { quotaQuery } from "@/features/quotas/queries";
import { lazyComponent } from "@/lib/chunk";

/** Staff's alone. */
const QuotaForm = lazyComponent(async () => (await import("@/features/quotas/QuotaForm")).QuotaForm);

export function QuotasPage() {
  const me = useMe();
  if (isStaff(me)) return <AllQuotas />;
  const outside = me.memberships.filter(({ role }) => role === "outsider").map(({ organisation }) => organisation);
  return <OwnQuotas organisations={seenOrganisations(me)} outside={outside} />;
}

function AllQuotas() {
  const [parameters, setParameters] = useSearchParams();
  const organisations = useQuery(choicesQuery(organisationChoices()));
  const named = parameters.get("organisation");
  const chosen = named ?? organisations.data?.results[0]?.id;
  // in the address, so that another organisation, newly made, does not take the place of the one whose form is open
  useEffect(() => {
    if (named === null && chosen !== undefined) setParameters({ organisation: chosen }, { replace: true });
  }, [named, chosen, setParameters]);
  return (
    <Page title={t`Quotas`} subtitle={t`What each organisation is guaranteed, and the most that it may use at a time.`}>
      <ProblemAlert error={organisations.error} onRetry={() => void organisations.refetch()} />
      {organisations.isPending && <Loading />}
      {organisations.data?.results.length === 0 && (
        <EmptyState
          title={t`No organisations yet`}
          text={t`Make one, or accept an invitation, on the page Members.`}
          action={
            <Button component={Link} to="/members">
              {t`Members`}
            </Button>
          }
        />
      )}
      {organisations.data && chosen !== undefined && (
        <>
          <OrganisationSelect maw={360} value={chosen} onChange={(organisation) => setParameters({ organisation })} />
          <Suspense fallback={<Loading label={t`Loading the page`} />}>
            <QuotaForm key={chosen} organisationId={chosen} />
          </Suspense>
          <QuotaTree key={`tree-${chosen}`} organisationId={chosen} isStaff />
        </>
      )}
    </Page>
  );
}

interface OwnQuotasProps {
  organisations: OrganisationBrief[];
  /** Those of which one is an outsider: only what one has a role in is shown. */
  outside: OrganisationBrief[];
}

function OwnQuotas({ organisations, outside }: OwnQuotasProps) {
  return (
    <Page title={t`Quotas`} subtitle={t`The most that your organisations may use at a time. Staff of MLHub change them.`}>
      {organisations.length + outside.length === 0 && (
        <EmptyState
          title={t`You belong to no organisation`}
          text={t`Ask an admin of one to invite you.`}
          action={
            <Button component={Link} to="/members">
              {t`My invitations`}
            </Button>
          }
        />
      )}
      {organisations.map((organisation) => (
        <Stack key={organisation.id} maw={760}>
          <OwnQuota organisation={organisation} />
          <RoleNeeded organisation={organisation} role="admin" action={t`Dividing the quota`} />
          <QuotaTree organisationId={organisation.id} isStaff={false} />
        </Stack>
      ))}
      {outside.map(({ id, name }) => (
        <Stack key={id} maw={760} gap="xs">
          <Title order={2} size="h4">
            {name}
          </Title>
          <Text size="sm" c="dimmed">
            {t`You are an outsider of ${name}: these are the teams and projects in which you have a role.`}
          </Text>
          <QuotaTree organisationId={id} isStaff={false} />
        </Stack>
      ))}
    </Page>
  );
}

function OwnQuota({ organisation }: { organisation: OrganisationBrief }) {
  const quota = useQuery(quotaQuery(organisation.id));
  return (
    <Paper withBorder p="md" component="section" aria-label={organisation.name} maw={560}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {organisation.name}
        </Title>
        <QueryResult of={quota}>{(found) => <Usage quota={found} />}</QueryResult>
      </Stack>
    </Paper>
  );
}
