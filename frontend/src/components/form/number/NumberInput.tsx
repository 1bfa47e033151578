// SPDX-License-Identifier: Apache-2.0
// A field for a number, for pages that show it on a press only: its code is loaded then. Until it is there, a field of text
// stands in its place and takes what is typed.
import { type NumberInputProps, TextInput } from "@mantine/core";
import { Suspense } from "react";

import { lazyComponent } from "@/lib/chunk";

const Loaded = lazyComponent<NumberInputProps>(async () => (await import("./MantineNumberInput")).NumberInput);

interface Props extends Pick<NumberInputProps, "min" | "max" | "allowNegative" | "allowDecimal" | "clampBehavior" | "label" | "w" | "error"> {
  value: string | number;
  onChange: (value: string | number) => void;
}

export function NumberInput(props: Props) {
  const { label, w, error, value, onChange } = props;
  return (
    <Suspense fallback={<TextInput {...{ label, w, error, value }} inputMode="decimal" onChange={(event) => onChange(event.currentTarget.value)} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
