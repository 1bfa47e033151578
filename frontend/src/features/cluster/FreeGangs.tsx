// SPDX-License-Identifier: Apache-2.0
// How large a gang may be that starts now: free GPUs that are scattered do not help a gang that needs them together.
import { plural, t } from "@lingui/core/macro";
import { Fragment, useRef } from "react";
import { Text } from "@mantine/core";

import type { Cluster } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { Section } from "@/components/layout/Section";
import { type FreeGpus, freeGpus } from "@/domain/scheduling/freeGangs";
import { csvOf } from "@/lib/download";
import { number } from "@/lib/quantities";

import classes from "./FreeGangs.module.css";

export function FreeGangs({ cluster }: { cluster: Cluster }) {
  const types = freeGpus(cluster);
  const most = Math.max(1, ...types.map(({ anywhere }) => anywhere));
  const drawing = useRef<HTMLDListElement>(null);
  return (
    <Section title={t`Largest gang now`} aside={<FigureMenu name={t`Largest gang now`} of={drawing} csv={() => csvOfFree(types)} />}>
      <dl className={classes.types} ref={drawing}>
        {types.map((type) => (
          <Fragment key={type.gpuType}>
            <Text component="dt" size="sm" fw={500}>
              {type.gpuType || t`CPU`}
            </Text>
            <dd aria-hidden>
              <Bar type={type} most={most} />
            </dd>
            <Text component="dd" size="sm" className={classes.text}>
              {sentence(type)}{" "}
              <Text span size="xs" c="dimmed">
                {holesText(type)}
              </Text>
            </Text>
          </Fragment>
        ))}
      </dl>
    </Section>
  );
}

function csvOfFree(types: readonly FreeGpus[]): string {
  return csvOf([["gpu_type", "on_one_node", "in_one_rack", "in_all"], ...types.map(({ gpuType, onOneNode, inOneRack, anywhere }) => [gpuType, onOneNode, inOneRack, anywhere])]);
}

/** All types have one scale. */
function Bar({ type, most }: { type: FreeGpus; most: number }) {
  const parts = [
    { within: "node", gpus: type.onOneNode },
    { within: "rack", gpus: type.inOneRack - type.onOneNode },
    { within: "cluster", gpus: type.anywhere - type.inOneRack },
  ];
  return (
    <div className={classes.bar}>
      {parts.map(({ within, gpus }) => (
        <div key={within} data-within={within} style={{ width: `${(100 * gpus) / most}%` }} />
      ))}
    </div>
  );
}

function sentence({ anywhere, inOneRack, onOneNode }: FreeGpus): string {
  if (anywhere === 0) return t`None is free.`;
  return t`${plural(onOneNode, { one: "# GPU", other: "# GPUs" })} on one node, ${number(inOneRack)} in one rack, ${number(anywhere)} in all.`;
}

/** "1 node with 4 free, 3 nodes with 1 free" */
function holesText({ holes }: FreeGpus): string {
  return holes.map(({ gpus, nodes }) => t`${plural(nodes, { one: "# node", other: "# nodes" })} with ${number(gpus)} free`).join(", ");
}
