// SPDX-License-Identifier: Apache-2.0
// Another passkey: first the owner proves to be it, then the browser makes the passkey. Each step has a click of its own,
// as browsers show their dialogue only right after one.
import { t } from "@lingui/core/macro";
import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, unwrap } from "@/api/client";
import { makePasskey } from "@/api/signIn/passkeys";
import type { OwnerProof } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { OwnerProofForm } from "@/components/account/OwnerProof";

type Options = Record<string, unknown>;

export function AddPasskey({ onAdded }: { onAdded: (recoveryCodes: string[]) => Promise<void> }) {
  const [isOpen, setOpen] = useState(false);
  const [options, setOptions] = useState<Options>();

  function close() {
    setOpen(false);
    setOptions(undefined);
  }

  async function begin(body: OwnerProof) {
    setOptions((await unwrap(api.POST("/api/v1/auth/passkeys/options", { body }))).options);
  }

  return (
    <>
      <div>
        <Button variant="default" onClick={() => setOpen(true)}>
          {t`Add a passkey`}
        </Button>
      </div>
      <Dialog opened={isOpen} onClose={close} title={t`Add a passkey`}>
        {options ? (
          <Make
            options={options}
            onAdded={async (codes) => {
              close();
              await onAdded(codes);
            }}
            onAgain={() => setOptions(undefined)}
          />
        ) : (
          <OwnerProofForm label={t`Continue`} formLabel={t`Add a passkey`} action={begin}>
            <Text size="sm">{t`First show that it is you: a passkey opens this account.`}</Text>
          </OwnerProofForm>
        )}
      </Dialog>
    </>
  );
}

interface MakeProps {
  options: Options;
  onAdded: (recoveryCodes: string[]) => Promise<void>;
  onAgain: () => void;
}

function Make({ options, onAdded, onAgain }: MakeProps) {
  const [name, setName] = useState("");
  const make = useMutation({
    mutationFn: () => makePasskey(name.trim(), options),
    onSuccess: ({ recovery_codes }) => onAdded(recovery_codes),
  });

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Name the passkey`}>
      <Stack>
        <TextInput
          label={t`Name`}
          description={t`Where it is kept, such as: work laptop, phone, security key.`}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          required
          data-autofocus
        />
        <ProblemAlert error={make.error} />
        <Button type="submit" loading={make.isPending} disabled={name.trim() === ""}>
          {t`Create the passkey`}
        </Button>
        {make.isError && (
          <Button variant="default" onClick={onAgain}>
            {t`Begin again`}
          </Button>
        )}
      </Stack>
    </form>
  );
}
