// SPDX-License-Identifier: Apache-2.0
// What single users may have of an owner, opened by a button: few look at it, so that its code is loaded then.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack } from "@mantine/core";
import { Suspense, useState } from "react";

import type { QuotaOwner } from "@/api/types";
import { Loading } from "@/components/feedback/Loading";
import { lazyComponent } from "@/lib/chunk";

const UserLimits = lazyComponent(async () => (await import("@/features/quotas/users/UserLimits")).UserLimits);

export function UserQuotas({ owner, organisationId }: { owner: QuotaOwner; organisationId: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Stack gap={4} mt={4}>
      <Group>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={t`Limits of users in ${owner.name}`}
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {t`Limits of users`}
        </Button>
      </Group>
      {isOpen && (
        <Suspense fallback={<Loading />}>
          <UserLimits owner={owner} organisationId={organisationId} />
        </Suspense>
      )}
    </Stack>
  );
}
