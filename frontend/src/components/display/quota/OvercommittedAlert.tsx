// SPDX-License-Identifier: Apache-2.0
// Says that organisations are, or would be, guaranteed more GPUs in sum than the cluster has, of any or single types.
import { t } from "@lingui/core/macro";
import { Alert, List } from "@mantine/core";

import type { Overcommitment } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { number } from "@/lib/quantities";

interface Props {
  found: Overcommitment[];
  /** Of a change that is not saved. */
  isSupposed?: boolean;
}

export function OvercommittedAlert({ found, isSupposed = false }: Props) {
  if (found.length === 0) return null;
  const title = isSupposed ? t`More GPUs would be guaranteed than the cluster has` : t`More GPUs are guaranteed than the cluster has`;
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={title}>
      <List size="sm">
        {found.map((one) => (
          <List.Item key={one.gpu_type}>{isSupposed ? supposedSentence(one) : sentence(one)}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

/** guaranteed is null for those who may not know what other organisations are guaranteed. */
function supposedSentence({ gpu_type, guaranteed, gpus }: Overcommitment): string {
  const there = number(gpus);
  if (guaranteed === null) {
    return gpu_type === ""
      ? t`This guarantee alone would be more than the ${there} GPUs of the cluster, so it could not be met in full.`
      : t`This guarantee alone would be more than the ${there} GPUs of type ${gpu_type}, so it could not be met in full.`;
  }
  const sum = number(guaranteed);
  return gpu_type === ""
    ? t`Organisations would be guaranteed ${sum} GPUs in sum, and the cluster has ${there}: not all could be honoured at once.`
    : t`Organisations would be guaranteed ${sum} GPUs of type ${gpu_type} in sum, and the cluster has ${there}: not all could be honoured at once.`;
}

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
