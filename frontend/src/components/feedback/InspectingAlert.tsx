// SPDX-License-Identifier: Apache-2.0
// Shown while an upload is inspected, or waits for that.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Loader } from "@mantine/core";

import type { DatasetVersion } from "@/api/types";
import { number } from "@/lib/quantities";

interface Props {
  /** While it is under way. */
  title: string;
  children: string;
  queue: DatasetVersion["queue"];
}

export function InspectingAlert({ title, children, queue }: Props) {
  const isWaiting = queue !== null && !queue.is_running;
  return (
    <Alert role="status" icon={<Loader size={16} />} title={isWaiting ? t`Waiting for inspection` : title}>
      <Trans>
        {queue?.problem ? t`It is tried again, since the platform could not do it: ${queue.problem} ` : ""}
        {isWaiting ? waitingFor(queue.n_before) : children} This page follows by itself.
      </Trans>
    </Alert>
  );
}

/** In numbers of the own organisation alone: others' are not shown. */
function waitingFor(nBefore: number): string {
  if (nBefore === 0) return t`It is the next one of your organisation, and waits for a free worker.`;
  return t`${number(nBefore)} before it: uploads and dry runs of your organisation. Organisations take turns.`;
}
