// SPDX-License-Identifier: Apache-2.0
// A dialogue: its window's code is loaded when it is opened for the first time, and stays until its page goes.
import type { ModalProps } from "@mantine/core";
import { Suspense, useState } from "react";

import { lazyComponent } from "@/lib/chunk";

const DialogWindow = lazyComponent(async () => (await import("./DialogWindow")).DialogWindow);

export function Dialog(props: ModalProps) {
  const [isNeeded, setNeeded] = useState(props.opened);
  if (props.opened && !isNeeded) setNeeded(true);
  if (!isNeeded) return null;
  return (
    <Suspense fallback={null}>
      <DialogWindow {...props} />
    </Suspense>
  );
}
