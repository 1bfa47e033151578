// SPDX-License-Identifier: Apache-2.0
// The authenticator app of one's account: set up and removed by its owner, who proves to be it.
import { t } from "@lingui/core/macro";
import { Alert, Button, Code, Image, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { meQuery, useMe } from "@/api/session";
import type { Enrolment, OwnerProof } from "@/api/types";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { OwnerProofForm, secondFactorQuery } from "@/components/account/OwnerProof";

export function SecondFactor() {
  const me = useMe();
  const factor = useQuery(secondFactorQuery);
  const [recoveryCodes, setRecoveryCodes] = useState<string[]>();
  if (recoveryCodes) {
    return (
      <SecretOnce
        title={t`The second factor is on. Keep these recovery codes`}
        text={t`Each signs you in once when you do not have your phone. They are not shown again.`}
        secret={recoveryCodes.join("\n")}
        label={t`Recovery codes`}
        onDone={() => setRecoveryCodes(undefined)}
      />
    );
  }
  return (
    <Stack maw={400} gap="sm">
      {me.needs_second_factor && (
        <Alert color="yellow" title={t`Set up a second factor`}>
          {t`Administrators of this MLHub have their rights only with a second factor: an authenticator app, or a passkey.`}
        </Alert>
      )}
      <QueryResult of={factor}>
        {({ is_enabled, n_recovery_codes }) =>
          is_enabled ? <Remove nRecoveryCodes={n_recovery_codes} /> : <SetUp onDone={setRecoveryCodes} />
        }
      </QueryResult>
    </Stack>
  );
}

function SetUp({ onDone }: { onDone: (recoveryCodes: string[]) => void }) {
  const queries = useQueryClient();
  const [begun, setBegun] = useState<Enrolment>();
  const [code, setCode] = useState("");
  const confirm = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/auth/second-factor/confirm", { body: { code } })),
    onSuccess: async ({ recovery_codes }) => {
      onDone(recovery_codes);
      await Promise.all([secondFactorQuery, meQuery].map(({ queryKey }) => queries.invalidateQueries({ queryKey })));
    },
  });

  async function begin(body: OwnerProof) {
    setBegun(await unwrap(api.POST("/api/v1/auth/second-factor", { body })));
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    confirm.mutate();
  }

  if (!begun) {
    return (
      <OwnerProofForm label={t`Set up`} formLabel={t`Set up a second factor`} action={begin}>
        <Text size="sm">{t`Signing in then asks for a code of your phone as well. API tokens go on without it.`}</Text>
      </OwnerProofForm>
    );
  }
  return (
    <form onSubmit={submit} aria-label={t`Set up a second factor`}>
      <Stack gap="sm">
        <Text size="sm">{t`Scan this with an authenticator app, or type the secret into it, and give the code that it shows.`}</Text>
        <Image src={`data:image/svg+xml,${encodeURIComponent(begun.qr_svg)}`} alt={t`QR code of the secret`} w={220} />
        <Code style={{ overflowWrap: "anywhere" }} aria-label={t`The secret`}>
          {begun.secret}
        </Code>
        <TextInput
          label={t`Code`}
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          error={confirm.error instanceof Problem ? confirm.error.of("code") : undefined}
          required
        />
        <ProblemAlert error={confirm.error} atFields={["code"]} />
        <Button type="submit" loading={confirm.isPending} disabled={code === ""}>
          {t`Turn it on`}
        </Button>
      </Stack>
    </form>
  );
}

function Remove({ nRecoveryCodes }: { nRecoveryCodes: number }) {
  const queries = useQueryClient();

  async function remove(body: OwnerProof) {
    await unwrap(api.POST("/api/v1/auth/second-factor/remove", { body }));
    await Promise.all([secondFactorQuery, meQuery].map(({ queryKey }) => queries.invalidateQueries({ queryKey })));
  }

  return (
    <OwnerProofForm label={t`Remove it`} formLabel={t`Remove the second factor`} action={remove} color="red">
      <Text size="sm">{t`It is on. Recovery codes left: ${nRecoveryCodes}.`}</Text>
    </OwnerProofForm>
  );
}
