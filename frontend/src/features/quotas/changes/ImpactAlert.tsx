// SPDX-License-Identifier: Apache-2.0
// What changed limits would do: a sentence, each job that is affected with its reason, and guarantees that are too many.
import { t } from "@lingui/core/macro";
import { Alert, List, Text } from "@mantine/core";

import type { WhatIfAnswer } from "@/api/types";
import { OvercommittedAlert } from "@/components/display/quota/OvercommittedAlert";
import { belowUseSentence, impactOf, impactSentence } from "@/features/quotas/changes/impact";

interface Props {
  answer: WhatIfAnswer;
  /** The change is to come: what it does then depends on the jobs that there will be. */
  isOfLater?: boolean;
}

export function ImpactAlert({ answer, isOfLater = false }: Props) {
  const { effects, overcommitted, below_use: belowUse, stop_grace_s: graceS } = answer;
  const { starts, gives, waits } = impactOf(effects);
  return (
    <>
      <Alert color="blue" role="status" title={impactSentence(effects)}>
        {belowUse.map((limit) => (
          <Text key={`${limit.owner} ${limit.limit} ${limit.gpu_type}`} size="sm">
            {belowUseSentence(limit, graceS)}
          </Text>
        ))}
        <List size="sm">
          {[...gives, ...starts, ...waits].map((effect) => (
            <List.Item key={effect.id}>
              <Text span size="sm" fw={500}>
                {effect.name}
              </Text>{" "}
              {effect.after?.explanations[0]?.sentence}
            </List.Item>
          ))}
        </List>
        {isOfLater && <Text size="sm">{t`As if it began now, with the jobs that there are now.`}</Text>}
        <Text size="xs" c="dimmed">
          {t`Jobs of other organisations take part and are not listed. Nothing is saved yet.`}
        </Text>
      </Alert>
      <OvercommittedAlert found={overcommitted} isSupposed />
    </>
  );
}
