// SPDX-License-Identifier: Apache-2.0
// A sentence about a control, shown when it is pointed at or focused; its code comes after the control.
import { type ReactElement, Suspense } from "react";

import { lazyComponent } from "@/lib/chunk";

interface Props {
  label: string;
  children: ReactElement;
}

const Tooltip = lazyComponent<Props>(async () => (await import("./TipWindow")).TipWindow);

export function Tip(props: Props) {
  return (
    <Suspense fallback={props.children}>
      <Tooltip {...props} />
    </Suspense>
  );
}
