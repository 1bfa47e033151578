// SPDX-License-Identifier: Apache-2.0
// Chooses a dataset, which is named with its project.
import type { ComponentProps } from "react";

import { datasetChoices } from "@/api/choices";
import type { Dataset } from "@/api/types";

import { SearchSelect } from "@/components/form/choice/SearchSelect";

type Props = Omit<ComponentProps<typeof SearchSelect<Dataset>>, "source" | "textOf" | "groupOf">;

export function DatasetSelect(props: Props) {
  return <SearchSelect {...props} source={datasetChoices} textOf={({ name, project }) => `${name} (${project.name})`} />;
}
