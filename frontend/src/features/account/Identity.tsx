// SPDX-License-Identifier: Apache-2.0
// The identity at the provider of single sign-on that opens one's account: linked with the password, and unlinked.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Group, Stack, Text } from "@mantine/core";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import { api, unwrap } from "@/api/client";
import { leaveFor, refusalOf, signInMethodsQuery } from "@/api/signIn/signInMethods";
import type { Identity as ExternalIdentity, OwnerProof } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Section } from "@/components/layout/Section";
import { OwnerProofForm } from "@/components/account/OwnerProof";

const identitiesQuery = queryOptions({
  queryKey: ["identities"],
  queryFn: async () => (await unwrap(api.GET("/api/v1/auth/identities"))).results,
});

/** Nothing where there is no provider. */
export function Identity() {
  const methods = useQuery(signInMethodsQuery);
  const provider = methods.data?.single_sign_on;
  const identities = useQuery({ ...identitiesQuery, enabled: Boolean(provider) });
  const [parameters] = useSearchParams();
  if (!provider) return null;
  return (
    <Section title={t`Single sign-on`}>
      <Stack maw={560} gap="sm">
        {parameters.has("refused") && <ProblemAlert error={refusalOf(methods.data)} />}
        <QueryResult of={identities}>
          {(found) =>
            found.length > 0 ? (
              found.map((identity) => <Linked key={identity.id} identity={identity} provider={provider} />)
            ) : (
              <Link provider={provider} />
            )
          }
        </QueryResult>
      </Stack>
    </Section>
  );
}

function Linked({ identity, provider }: { identity: ExternalIdentity; provider: string }) {
  const queries = useQueryClient();

  async function unlink() {
    await unwrap(api.DELETE("/api/v1/auth/identities/{id}", { params: { path: { id: identity.id } } }));
    await queries.invalidateQueries();
  }

  return (
    <Group justify="space-between">
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        <Trans>
          <b>{identity.label || identity.subject}</b> at {provider} ({identity.issuer}), linked{" "}
          <RelativeTime at={identity.created_at} />
        </Trans>
      </Text>
      <ConfirmButton
        label={t`Unlink`}
        size="xs"
        title={t`Unlink ${provider}?`}
        text={t`You then sign in with your password or a passkey. Your other sessions end, and roles that your groups gave are taken away.`}
        action={unlink}
      />
    </Group>
  );
}

function Link({ provider }: { provider: string }) {
  async function begin(body: OwnerProof) {
    leaveFor(await unwrap(api.POST("/api/v1/auth/identities", { body })));
  }

  return (
    <Stack maw={400}>
      <OwnerProofForm label={t`Link ${provider}`} formLabel={t`Link ${provider}`} action={begin}>
        <Text size="sm">
          {t`Link your identity at ${provider} to sign in with it. It opens this account from then on.`}
        </Text>
      </OwnerProofForm>
    </Stack>
  );
}
