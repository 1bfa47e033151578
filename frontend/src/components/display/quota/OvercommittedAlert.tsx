// SPDX-License-Identifier: Apache-2.0
// Says that organisations are guaranteed more GPUs in sum than the cluster has, of any type or of single types.
import { t } from "@lingui/core/macro";
import { Alert, List } from "@mantine/core";

import type { Overcommitment } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { number } from "@/lib/quantities";

export function OvercommittedAlert({ found }: { found: Overcommitment[] }) {
  if (found.length === 0) return null;
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={t`More GPUs are guaranteed than the cluster has`}>
      <List size="sm">
        {found.map((one) => (
          <List.Item key={one.gpu_type}>{sentence(one)}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

/** guaranteed is null for those who may not know what other organisations are guaranteed. */
function sentence({ gpu_type, guaranteed, gpus }: Overcommitment): string {
  const there = number(gpus);
  if (guaranteed === null) {
    return gpu_type === ""
      ? t`Organisations are guaranteed more than the ${there} GPUs of the cluster in sum, so this guarantee may not be met in full. Administrators of the platform can lower guarantees or add nodes.`
      : t`Organisations are guaranteed more than the ${there} GPUs of type ${gpu_type} in sum, so this guarantee may not be met in full. Administrators of the platform can lower guarantees or add nodes.`;
  }
  const sum = number(guaranteed);
  return gpu_type === ""
    ? t`Organisations are guaranteed ${sum} GPUs in sum, and the cluster has ${there}: not all can be honoured at once. Lower a guarantee, or add nodes.`
    : t`Organisations are guaranteed ${sum} GPUs of type ${gpu_type} in sum, and the cluster has ${there}: not all can be honoured at once. Lower a guarantee, or add nodes.`;
}
