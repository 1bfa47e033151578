// SPDX-License-Identifier: Apache-2.0
// Parallel coordinates of a study: an axis for each hyperparameter and for what was reached, a line for each trial, the better the clearer.
import { plural, t } from "@lingui/core/macro";
import { Text, useComputedColorScheme } from "@mantine/core";

import type { Study, Trial } from "@/api/types";
import { useRanges } from "@/components/chart/address/useRanges";
import { colourOf } from "@/components/chart/colours";
import { ParallelCoordinates } from "@/components/chart/parallel/ParallelCoordinates";
import { axesOf, noResultText, ranked } from "@/features/studies/values";

const FAINTEST = 0.15;
const CLEAREST = 0.9;

export function TrialCoordinates({ study, trials }: { study: Study; trials: readonly Trial[] }) {
  const [ranges, setRanges] = useRanges();
  const scheme = useComputedColorScheme("light");
  const measured = trials.filter(({ results }) => results.length > 0);
  if (measured.length === 0) return <Text size="sm" c="dimmed">{noResultText(study)}</Text>;
  const axes = axesOf(study, measured);
  const worstFirst = ranked(study, measured).toReversed();
  const lines = worstFirst.map((trial, index) => {
    const isBest = trial.id === study.best?.id;
    return {
      id: trial.id,
      label: t`Trial ${trial.number}`,
      colour: colourOf(isBest ? 1 : 0, scheme),
      opacity: FAINTEST + ((CLEAREST - FAINTEST) * (index + 1)) / worstFirst.length,
      isEmphasised: isBest,
      values: axes.map(({ valueOf }) => valueOf(trial)),
    };
  });
  const label = t`${plural(measured.length, { one: "# trial", other: "# trials" })} over ${axes.map(({ name }) => name).join(", ")}.`;
  return <ParallelCoordinates axes={axes} lines={lines} label={label} ranges={ranges} onRanges={setRanges} />;
}
