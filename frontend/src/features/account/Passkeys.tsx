// SPDX-License-Identifier: Apache-2.0
// The passkeys of one's account: listed, renamed, removed, and the way to another one.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Anchor, Badge, Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { passkeysQuery, whyNoPasskeys } from "@/api/signIn/passkeys";
import { meQuery } from "@/api/session";
import { signInMethodsQuery } from "@/api/signIn/signInMethods";
import type { OwnerProof, Passkey } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Dialog } from "@/components/form/Dialog";
import { ScrollTable } from "@/components/table/ScrollTable";
import { AddPasskey } from "@/features/account/AddPasskey";
import { OwnerProofForm, secondFactorQuery } from "@/components/account/OwnerProof";

export function Passkeys() {
  const passkeys = useQuery(passkeysQuery);
  const methods = useQuery(signInMethodsQuery);
  const [recoveryCodes, setRecoveryCodes] = useState<string[]>([]);
  const refresh = useRefresh();
  const reason = methods.data && whyNoPasskeys(methods.data.passkey_origin);

  async function showCodes(codes: string[]) {
    setRecoveryCodes(codes);
    await refresh();
  }

  return (
    <Stack gap="sm">
      <Text size="sm" maw={640}>
        {methods.data?.has_passkeys === false
          ? t`A passkey is kept by a phone, a computer or a security key, which asks for your finger, face or PIN. It is a second factor.`
          : t`A passkey is kept by a phone, a computer or a security key, which asks for your finger, face or PIN. It signs you in without a password, and is a second factor after it.`}
      </Text>
      {recoveryCodes.length > 0 && (
        <SecretOnce
          title={t`The passkey is added. Keep these recovery codes`}
          text={t`From now on a passkey is asked for after your password. Each code replaces it once. They are not shown again.`}
          secret={recoveryCodes.join("\n")}
          label={t`Recovery codes`}
          onDone={() => setRecoveryCodes([])}
        />
      )}
      <QueryResult of={passkeys}>
        {(found) =>
          found.length > 0 && (
            <ScrollTable label={t`Passkeys`} head={[t`Name`, t`Added`, t`Last used`, ""]} minWidth={600}>
              {found.map((passkey) => (
                <Row key={passkey.id} passkey={passkey} />
              ))}
            </ScrollTable>
          )
        }
      </QueryResult>
      {reason ? <Reason problem={reason} origin={methods.data.passkey_origin} /> : methods.data && <AddPasskey onAdded={showCodes} />}
    </Stack>
  );
}

function Reason({ problem, origin }: { problem: Problem; origin: string | null }) {
  return (
    <Alert color="gray" title={problem.title} maw={640}>
      <Text size="sm">
        {problem.detail}{" "}
        {problem.code === "other_origin" && origin ? (
          <Trans>
            Open <Anchor href={`${origin}/account`}>{origin}/account</Anchor>.
          </Trans>
        ) : (
          problem.remedy
        )}
      </Text>
    </Alert>
  );
}

function Row({ passkey }: { passkey: Passkey }) {
  const [dialog, setDialog] = useState<"rename" | "remove">();
  const close = () => setDialog(undefined);
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        {passkey.name} {passkey.is_synced && <Badge color="gray">{t`Synced`}</Badge>}
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={passkey.created_at} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>{passkey.last_used_at ? <RelativeTime at={passkey.last_used_at} /> : t`Never`}</Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Button size="xs" variant="default" aria-label={t`Rename ${passkey.name}`} onClick={() => setDialog("rename")}>
            {t`Rename`}
          </Button>
          <Button size="xs" variant="default" c="var(--mantine-color-error)" aria-label={t`Remove ${passkey.name}`} onClick={() => setDialog("remove")}>
            {t`Remove`}
          </Button>
        </Group>
        <Dialog opened={dialog === "rename"} onClose={close} title={t`Rename the passkey`}>
          <Rename passkey={passkey} onDone={close} />
        </Dialog>
        <Dialog opened={dialog === "remove"} onClose={close} title={t`Remove ${passkey.name}?`}>
          <Remove passkey={passkey} onDone={close} />
        </Dialog>
      </Table.Td>
    </Table.Tr>
  );
}

interface DialogProps {
  passkey: Passkey;
  onDone: () => void;
}

function Rename({ passkey, onDone }: DialogProps) {
  const queries = useQueryClient();
  const [name, setName] = useState(passkey.name);
  const rename = useMutation({
    mutationFn: () =>
      unwrap(api.PATCH("/api/v1/auth/passkeys/{id}", { params: { path: { id: passkey.id } }, body: { name: name.trim() } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: passkeysQuery.queryKey });
      onDone();
    },
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    rename.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Rename the passkey`}>
      <Stack>
        <TextInput label={t`Name`} value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={100} required data-autofocus />
        <ProblemAlert error={rename.error} />
        <Button type="submit" loading={rename.isPending} disabled={name.trim() === ""}>
          {t`Rename`}
        </Button>
      </Stack>
    </form>
  );
}

function Remove({ passkey, onDone }: DialogProps) {
  const refresh = useRefresh();

  async function remove(body: OwnerProof) {
    await unwrap(api.POST("/api/v1/auth/passkeys/{id}/remove", { params: { path: { id: passkey.id } }, body }));
    onDone();
    await refresh();
  }

  return (
    <OwnerProofForm label={t`Remove`} formLabel={t`Remove the passkey`} action={remove} color="red">
      <Text size="sm">
        {t`It opens nothing from then on, and your other sessions end. Delete it where your device keeps it, too.`}
      </Text>
    </OwnerProofForm>
  );
}

function useRefresh() {
  const queries = useQueryClient();
  const stale = [passkeysQuery.queryKey, secondFactorQuery.queryKey, meQuery.queryKey, ["sessions"]];
  return () => Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
}
