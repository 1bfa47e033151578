// SPDX-License-Identifier: Apache-2.0
// What a job may ask of its pods: the fields of `resources` and `limits`, each with label, unit, bounds and default.
import { t } from "@lingui/core/macro";

import type { JobSubmit } from "@/api/types";
import { number } from "@/lib/quantities";
import { duration } from "@/lib/time";

type Resources = NonNullable<JobSubmit["resources"]>;
type Limits = NonNullable<JobSubmit["limits"]>;
/** All but gpu_types are numbers; idle_s is of notebooks alone. */
export type PodSetting = Exclude<keyof Resources, "gpu_types"> | Exclude<keyof Limits, "idle_s">;

interface PodSettingDeclaration {
  group: "resources" | "limits";
  label: string;
  unit: string;
  min: number;
  max: number;
  isWhole: boolean;
  byDefault: string;
  about: string;
  /** The hyperparameter that it was once. */
  formerName: string | null;
  text: (value: number) => string;
}

const gib = (value: number) => t`${number(value)} GiB`;

export const POD_SETTINGS: Record<PodSetting, PodSettingDeclaration> = {
  cpus: {
    group: "resources",
    label: t`CPUs per worker`,
    unit: t`CPUs`,
    min: 0.1,
    max: 1024,
    isWhole: false,
    byDefault: "1",
    about: t`Reserved for it on its node`,
    formerName: null,
    text: number,
  },
  memory_gib: {
    group: "resources",
    label: t`Memory per worker (GiB)`,
    unit: t`GiB`,
    min: 0.5,
    max: 4096,
    isWhole: false,
    byDefault: t`Twice what the dry run took`,
    about: t`On Kubernetes a worker that takes more is ended`,
    formerName: "memory_gib",
    text: gib,
  },
  n_servers: {
    group: "resources",
    label: t`Parameter servers`,
    unit: t`servers`,
    min: 1,
    max: 1024,
    isWhole: true,
    byDefault: t`The scheduler's choice`,
    about: t`Only where the job runs on parameter servers`,
    formerName: "n_servers",
    text: number,
  },
  server_memory_gib: {
    group: "resources",
    label: t`Memory per server (GiB)`,
    unit: t`GiB`,
    min: 0.5,
    max: 4096,
    isWhole: false,
    byDefault: t`By the size of the model`,
    about: t`For weights, state of the optimiser and gradients`,
    formerName: "server_memory_gib",
    text: gib,
  },
  n_workers: {
    group: "resources",
    label: t`Workers under fixed sizes`,
    unit: t`workers`,
    min: 1,
    max: 4096,
    isWhole: true,
    byDefault: t`The policy's choice`,
    about: t`What a scheduling policy of fixed sizes gives`,
    formerName: null,
    text: number,
  },
  stall_s: {
    group: "limits",
    label: t`Stall limit (seconds)`,
    unit: t`seconds`,
    min: 60,
    max: 30 * 24 * 3600,
    isWhole: false,
    byDefault: t`600; scripts 3,600`,
    about: t`The job is ended after so long without a step`,
    formerName: "stall_limit_s",
    text: duration,
  },
};

export const podSettings = Object.keys(POD_SETTINGS) as PodSetting[];

/** "resources.memory_gib" -> "memory_gib"; null of a field that is none of them. */
export function podSettingOf(field: string): PodSetting | null {
  return podSettings.find((name) => field === `${POD_SETTINGS[name].group}.${name}`) ?? null;
}

/** Its label without the unit. */
export function nameOf(name: PodSetting): string {
  return POD_SETTINGS[name].label.replace(/ \(.*\)$/, "");
}

/** What a job asked for, with labels; without what it left to MLHub. */
export function podSettingFacts(asked: { resources: Resources; limits: Limits }): [string, string][] {
  const { gpu_types: types, ...numbers } = asked.resources;
  const values: Partial<Record<PodSetting, number>> = { ...numbers, ...asked.limits };
  const facts = podSettings.flatMap((name): [string, string][] => {
    const value = values[name];
    return value === undefined ? [] : [[nameOf(name), POD_SETTINGS[name].text(value)]];
  });
  return types === undefined ? facts : [...facts, [t`GPU types`, types.join(", ")]];
}
