// SPDX-License-Identifier: Apache-2.0
// What is added to an owner's rules for a time, now or later: who may change the quota adds, ends and cancels it here.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { Suspense, useState } from "react";

import { api, unwrap } from "@/api/client";
import type { QuotaBoost, QuotaOwner } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { addedText } from "@/features/quotas/boosts/AmountFields";
import { windowText } from "@/features/quotas/boosts/begin";
import { useReloadedTree } from "@/features/quotas/queries";
import { lazyComponent } from "@/lib/chunk";

const BoostForm = lazyComponent(async () => (await import("@/features/quotas/boosts/BoostForm")).BoostForm);

interface Props {
  owner: QuotaOwner;
  organisationId: string;
  mayEdit: boolean;
}

export function Boosts({ owner, organisationId, mayEdit }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const reload = useReloadedTree(organisationId);

  async function end(id: string) {
    await unwrap(api.POST("/api/v1/quota-boosts/{id}/end", { params: { path: { id } } }));
    await reload();
  }

  return (
    <Stack gap={4} mt={4}>
      {owner.boosts.map((boost) => (
        <Group key={boost.id} gap="xs">
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            <Trans>
              Boost: {addedText(boost)}, ends <RelativeTime at={boost.ends_at} />
              {boost.reason && ` (${boost.reason})`}
            </Trans>
          </Text>
          {mayEdit && (
            <ConfirmButton
              label={t`End now`}
              size="compact-xs"
              ariaLabel={t`End the boost of ${owner.name}: ${addedText(boost)}`}
              title={t`End the boost of ${owner.name}?`}
              text={t`From the next scheduling round on it has its usual quota again: without ${addedText(boost)}. Jobs above that save a checkpoint and wait.`}
              action={() => end(boost.id)}
            />
          )}
        </Group>
      ))}
      {owner.boosts_to_come.map((boost) => (
        <Reservation key={boost.id} {...{ boost, owner, mayEdit }} cancel={() => end(boost.id)} />
      ))}
      {mayEdit && (
        <Group>
          <Button
            size="compact-xs"
            variant="subtle"
            aria-label={t`Boost or reserve GPUs for ${owner.name}`}
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {t`Boost or reserve`}
          </Button>
        </Group>
      )}
      {isOpen && (
        <Suspense fallback={null}>
          <BoostForm owner={owner} organisationId={organisationId} onDone={() => setIsOpen(false)} />
        </Suspense>
      )}
    </Stack>
  );
}

interface ReservationProps {
  boost: QuotaBoost;
  owner: QuotaOwner;
  mayEdit: boolean;
  cancel: () => Promise<void>;
}

function Reservation({ boost, owner, mayEdit, cancel }: ReservationProps) {
  const [added, times] = [addedText(boost), windowText(boost)];
  return (
    <Group gap="xs">
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        <Trans>
          Reserved: {added}, {times}, begins <RelativeTime at={boost.starts_at} />
          {boost.reason && ` (${boost.reason})`}
        </Trans>
      </Text>
      {mayEdit && (
        <ConfirmButton
          label={t`Cancel reservation`}
          size="compact-xs"
          ariaLabel={t`Cancel reservation of ${owner.name}: ${added}, ${times}`}
          title={t`Cancel the reservation of ${owner.name}?`}
          text={t`It will not get ${added} ${times}. Predictions change with the next scheduling round.`}
          action={cancel}
        />
      )}
    </Group>
  );
}
