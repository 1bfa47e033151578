// SPDX-License-Identifier: Apache-2.0
// What can be taken from a figure: a picture of it as it is shown, its numbers, and a link to the page in its present state.
// The list is loaded when it is first opened: charts are on nearly every page, and few are saved.
import { t } from "@lingui/core/macro";
import { ActionIcon, type ActionIconProps } from "@mantine/core";
import { type RefObject, Suspense, useState } from "react";

import { Icon } from "@/components/display/Icon";
import { lazyComponent } from "@/lib/chunk";

const FigureActions = lazyComponent(async () => (await import("./FigureActions")).FigureActions);

interface Props {
  /** Whose menu it is; files are called so, too. */
  name: string;
  /** What is drawn. */
  of: RefObject<Element | null>;
  /** Its numbers. */
  csv: () => string;
  isDisabled?: boolean;
}

export function FigureMenu({ isDisabled = false, ...figure }: Props) {
  const [wasOpened, setOpened] = useState(false);
  const look = { variant: "subtle", color: "gray", size: 24, style: { flexShrink: 0 } } satisfies ActionIconProps;
  const button = {
    ...look,
    "aria-label": t`Save or link: ${figure.name}`,
    "data-no-picture": true,
    disabled: isDisabled,
    children: <Icon name="download" size={15} />,
  };
  if (!wasOpened) return <ActionIcon {...button} aria-haspopup="menu" onClick={() => setOpened(true)} />;
  return (
    <Suspense fallback={<ActionIcon {...button} loading />}>
      <FigureActions {...figure} button={button} />
    </Suspense>
  );
}
