// SPDX-License-Identifier: Apache-2.0
// Chooses a model, by its project.
import { t } from "@lingui/core/macro";
import type { ComponentProps } from "react";

import { modelChoices } from "@/api/choices";
import type { Model } from "@/api/types";

import { SearchSelect } from "@/components/form/choice/SearchSelect";

type Props = Omit<ComponentProps<typeof SearchSelect<Model>>, "source" | "textOf" | "groupOf">;

export function ModelSelect(props: Props) {
  return <SearchSelect {...props} source={modelChoices} textOf={({ name }) => name} groupOf={placeOf} />;
}

function placeOf({ project }: Model): string {
  return project === null ? t`Built in` : `${project.organisation.name} / ${project.name}`;
}
