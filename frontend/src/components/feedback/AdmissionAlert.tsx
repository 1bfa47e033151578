// SPDX-License-Identifier: Apache-2.0
// Says that admission is paused: jobs that wait wait for an administrator then, and not for GPUs.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Text } from "@mantine/core";

import type { Admission } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";

export function AdmissionAlert({ admission }: { admission: Admission }) {
  const { since, until, reason } = admission;
  if (!admission.is_paused || since === null) return null;
  return (
    <Alert color="orange" role="status" icon={<Icon name="alert" />} title={t`Admission is paused`}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        <Trans>
          An administrator paused it <RelativeTime at={since} />: {reason}
        </Trans>
      </Text>
      <Text size="sm">
        {t`Running jobs continue; no pending job is started.`}{" "}
        {until === null ? (
          t`It stays so until an administrator resumes admission.`
        ) : (
          <Trans>
            It is resumed by itself <RelativeTime at={until} />.
          </Trans>
        )}
      </Text>
    </Alert>
  );
}
