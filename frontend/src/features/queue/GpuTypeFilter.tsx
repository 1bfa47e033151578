// SPDX-License-Identifier: Apache-2.0
// Which type of GPU the queue is shown for.
import { t } from "@lingui/core/macro";
import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { clusterQuery } from "@/api/cluster";

/** Of the types that the cluster has, where it has several; and that of a link. */
export function GpuTypeFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const cluster = useQuery(clusterQuery);
  const nodes = cluster.data?.racks.flatMap((rack) => rack.nodes) ?? [];
  const types = [...new Set([...nodes.map(({ gpu_type }) => gpu_type), value])].filter((type) => type !== "").sort();
  if (types.length < 2 && value === "") return null;
  return (
    <NativeSelect
      size="xs"
      aria-label={t`GPU type`}
      title={t`Jobs that may use GPUs of this type`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[{ value: "", label: t`All GPU types` }, ...types]}
    />
  );
}
