// SPDX-License-Identifier: Apache-2.0
// Of what a step is made on each worker of a gang, as bars of one scale; the worker that the others wait for stands out.
import { t } from "@lingui/core/macro";
import { Badge, Button, Text, Tooltip, VisuallyHidden } from "@mantine/core";
import { useState } from "react";

import type { WorkerStepTime } from "@/api/types";
import { number, percent, significant } from "@/lib/quantities";
import { shortDuration } from "@/lib/time";

import { slowestFirst, stepParts } from "./profile";

import classes from "./StepTimeBreakdown.module.css";

const FIRST = 24;

export function StepTimeBreakdown({ workers }: { workers: readonly WorkerStepTime[] }) {
  const [isWhole, setWhole] = useState(false);
  if (workers.length < 2) return null;
  const isCut = workers.length > FIRST && !isWhole;
  const shown = isCut ? slowestFirst(workers).slice(0, FIRST) : workers;
  const longest_s = Math.max(...workers.map(({ step_s }) => step_s));
  return (
    <div>
      <Text size="sm" mb={6}>
        {t`A step on each worker`}
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        {sentence(workers)}
      </Text>
      <ul className={classes.workers} aria-label={t`A step on each worker`}>
        {shown.map((worker) => (
          <Bar key={worker.worker} worker={worker} longest_s={longest_s} />
        ))}
      </ul>
      {isCut && (
        <Button variant="default" size="xs" mt={6} onClick={() => setWhole(true)}>
          {t`Show all ${number(workers.length)} workers`}
        </Button>
      )}
    </div>
  );
}

function sentence(workers: readonly WorkerStepTime[]): string {
  const [slowest, ...others] = slowestFirst(workers.filter(({ is_straggler: isStraggler }) => isStraggler));
  if (slowest === undefined) return t`All of them read and compute about equally fast.`;
  const times = factor(slowest);
  const name = slowest.node ? t`Worker ${slowest.worker} on ${slowest.node}` : t`Worker ${slowest.worker}`;
  const first = t`${name} takes ${times} times as long as the others to read and compute.`;
  return others.length === 0 ? first : t`${first} So do, less so, the workers ${others.map(({ worker }) => worker).join(", ")}.`;
}

function factor({ slowdown }: WorkerStepTime): string {
  return number(significant(slowdown, 2));
}

function Bar({ worker, longest_s: longest }: { worker: WorkerStepTime; longest_s: number }) {
  const parts = stepParts(worker);
  const text = parts.map(({ label, seconds, share }) => `${label} ${shortDuration(seconds)} (${percent(share)})`).join(", ");
  return (
    <li>
      <Text size="xs" className={classes.name} title={worker.node}>
        {worker.worker} <Text span c="dimmed" inherit>{worker.node}</Text>
      </Text>
      <Tooltip label={text} openDelay={200}>
        <div aria-hidden="true">
          <div className={classes.bar} style={{ width: `${(100 * worker.step_s) / longest}%` }}>
            {parts.map(({ name, share }) => (
              <span key={name} data-part={name} style={{ flexGrow: share }} />
            ))}
          </div>
        </div>
      </Tooltip>
      <Text size="xs" className={classes.seconds}>
        {shortDuration(worker.step_s)}
        <VisuallyHidden>{`: ${text}`}</VisuallyHidden>
      </Text>
      {worker.is_straggler ? (
        <Badge variant="light" color="orange" size="sm">
          {t`Straggler · ${factor(worker)} ×`}
        </Badge>
      ) : (
        <span />
      )}
    </li>
  );
}
