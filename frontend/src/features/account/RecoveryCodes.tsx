// SPDX-License-Identifier: Apache-2.0
// How many recovery codes are left, and the way to new ones: for who has a second factor.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { passkeysQuery } from "@/api/signIn/passkeys";
import type { OwnerProof } from "@/api/types";
import { OwnerProofForm, secondFactorQuery } from "@/components/account/OwnerProof";
import { SecretOnce } from "@/components/display/SecretOnce";
import { Section } from "@/components/layout/Section";

/** With so few left it is time for new ones. */
const FEW = 2;

export function RecoveryCodes() {
  const queries = useQueryClient();
  const factor = useQuery(secondFactorQuery).data;
  const passkeys = useQuery(passkeysQuery).data ?? [];
  const [isOpen, setIsOpen] = useState(false);
  const [codes, setCodes] = useState<string[]>();
  if (!factor || (!factor.is_enabled && passkeys.length === 0)) return null;
  const left = factor.n_recovery_codes;

  async function renew(body: OwnerProof) {
    const made = await unwrap(api.POST("/api/v1/auth/second-factor/recovery-codes", { body }));
    setCodes(made.recovery_codes);
    setIsOpen(false);
    await queries.invalidateQueries({ queryKey: secondFactorQuery.queryKey });
  }

  return (
    <Section title={t`Recovery codes`}>
      <Stack gap="sm" maw={400}>
        {factor.is_recovering && (
          <Alert color="yellow" title={t`You signed in with a recovery code`}>
            {t`Within ten minutes of that your password alone is enough to remove what you lost, to set up another one and to make new codes.`}
          </Alert>
        )}
        {left <= FEW && !codes && (
          <Alert color="orange" title={t`Few recovery codes are left`}>
            {t`Without one, and without your phone or passkey, only an administrator can let you in. Make new ones.`}
          </Alert>
        )}
        <Text size="sm">{t`Each signs you in once in place of the second factor. Left: ${left}.`}</Text>
        {codes && (
          <SecretOnce
            title={t`Keep these recovery codes`}
            text={t`The earlier ones do not work any more. These are not shown again.`}
            secret={codes.join("\n")}
            label={t`Recovery codes`}
            onDone={() => setCodes(undefined)}
          />
        )}
        {isOpen ? (
          <OwnerProofForm label={t`Make new codes`} formLabel={t`New recovery codes`} action={renew}>
            <Text size="sm">{t`All earlier codes stop working.`}</Text>
          </OwnerProofForm>
        ) : (
          <Group>
            <Button variant="default" onClick={() => setIsOpen(true)}>
              {t`Make new codes`}
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  );
}
