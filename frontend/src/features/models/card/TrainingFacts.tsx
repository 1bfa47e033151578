// SPDX-License-Identifier: Apache-2.0
// How a version was trained: class and file of what a script left, hyperparameters, strategy, steps, seed and classes,
// as its metadata has them.
import { t } from "@lingui/core/macro";

import { isRecord } from "@/api/client";
import { type Fact, Facts } from "@/components/display/Facts";
import { Section } from "@/components/layout/Section";
import { number } from "@/lib/quantities";

const MOST_CLASSES = 20;

export function TrainingFacts({ metadata }: { metadata: Record<string, unknown> }) {
  const settings = factsOf(metadata.hyperparameters);
  const training = trainingOf(metadata);
  return (
    <>
      {settings.length > 0 && (
        <Section title={t`Hyperparameters`} order={3}>
          <Facts facts={settings} />
        </Section>
      )}
      {training.length > 0 && (
        <Section title={t`Training`} order={3}>
          <Facts facts={training} />
        </Section>
      )}
    </>
  );
}

function trainingOf(metadata: Record<string, unknown>): Fact[] {
  const { steps, seed, strategy, classes, checkpoint, model_class: modelClass, file } = metadata;
  const found: Fact[] = [];
  if (typeof modelClass === "string" && modelClass !== "") found.push([t`Model`, modelClass]);
  if (typeof file === "string") found.push([t`File of the weights`, file]);
  if (typeof steps === "number") found.push([t`Steps`, number(steps)]);
  if (typeof seed === "number") found.push([t`Seed`, String(seed)]);
  if (isRecord(strategy) && Object.keys(strategy).length > 0) found.push([t`Strategy`, shown(strategy.name ?? strategy)]);
  if (isRecord(checkpoint)) found.push([t`Made from`, t`a checkpoint at step ${shown(checkpoint.step)}`]);
  if (Array.isArray(classes) && classes.length > 0) {
    const more = classes.length - MOST_CLASSES;
    found.push([t`Classes`, classes.slice(0, MOST_CLASSES).map(shown).join(", ") + (more > 0 ? t` and ${more} more` : "")]);
  }
  return found;
}

function factsOf(values: unknown): Fact[] {
  return isRecord(values) ? Object.entries(values).map(([name, value]) => [name, shown(value)]) : [];
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
