// SPDX-License-Identifier: Apache-2.0
// How much each hyperparameter matters by itself, as bars with numbers, and how that is computed.
import { plural, t } from "@lingui/core/macro";
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Study } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { ShareBars, csvOfShares } from "@/components/chart/ShareBars";
import { QueryResult } from "@/components/feedback/QueryResult";
import { IMPORTANCE_METHOD } from "@/domain/importance";
import { importanceQuery } from "@/features/studies/queries";

export function Importance({ study }: { study: Study }) {
  return (
    <QueryResult of={useQuery(importanceQuery(study))}>
      {({ parameters, n_trials, needed, epochs }) => (
        <FigureCard title={t`Importance`} of={study.name} csv={() => csvOfShares(parameters)} isEmpty={parameters.length === 0}>
          <Stack gap="xs" maw={720}>
            <ShareBars shares={parameters} />
            <Text size="xs" c="dimmed">
              {n_trials < needed
                ? t`Needs the results of ${needed} trials; there are ${n_trials}.`
                : study.unit === "steps" ? t`${IMPORTANCE_METHOD} By ${plural(n_trials, { one: "# trial", other: "# trials" })} after ${plural(epochs, { one: "# step", other: "# steps" })}.` : t`${IMPORTANCE_METHOD} By ${plural(n_trials, { one: "# trial", other: "# trials" })} after ${plural(epochs, { one: "# epoch", other: "# epochs" })}.`}
            </Text>
          </Stack>
        </FigureCard>
      )}
    </QueryResult>
  );
}
