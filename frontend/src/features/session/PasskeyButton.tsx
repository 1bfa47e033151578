// SPDX-License-Identifier: Apache-2.0
// Asks the browser for a passkey, in place of a password or after it.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { askPasskey } from "@/api/signIn/passkeys";
import type { Me, PasskeyAnswer } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

interface Props {
  label: string;
  onAnswer: (answer: PasskeyAnswer) => Promise<unknown>;
}

export function PasskeyButton({ label, onAnswer }: Props) {
  const ask = useMutation({ mutationFn: async () => onAnswer(await askPasskey()) });
  return (
    <>
      <ProblemAlert error={ask.error} />
      <Button fullWidth variant="default" loading={ask.isPending} onClick={() => ask.mutate()}>
        {label}
      </Button>
    </>
  );
}

/** A passkey alone signs in: it is both factors. */
export function PasskeySignIn({ onDone }: { onDone: (me: Me) => Promise<void> }) {
  return (
    <PasskeyButton
      label={t`Sign in with a passkey`}
      onAnswer={async (passkey) => onDone(await unwrap(api.POST("/api/v1/auth/passkey-login", { body: { passkey } })))}
    />
  );
}
