// SPDX-License-Identifier: Apache-2.0
// A titled card of one figure, with the figure's menu.
import { Group } from "@mantine/core";
import { type ReactNode, useRef } from "react";

import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { SectionCard } from "@/components/layout/Section";

interface Props {
  title: string;
  /** What it is of; files are called so. */
  of: string;
  csv: () => string;
  /** Next to the title. */
  aside?: ReactNode;
  /** Whether nothing is drawn yet. */
  isEmpty?: boolean;
  children: ReactNode;
}

export function FigureCard({ title, of, csv, aside, isEmpty = false, children }: Props) {
  const drawing = useRef<HTMLDivElement>(null);
  const menu = !isEmpty && <FigureMenu name={`${of} ${title}`} of={drawing} csv={csv} />;
  return (
    <SectionCard title={title} aside={<Group gap="xs">{aside}{menu}</Group>}>
      <div ref={drawing}>{children}</div>
    </SectionCard>
  );
}
