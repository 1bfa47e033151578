// SPDX-License-Identifier: Apache-2.0
// A number of at least one that must be there.
import { NumberInput } from "@mantine/core";

interface WholeProps {
  label: string;
  value: number | string;
  error: string | undefined;
  onChange: (value: number | string) => void;
}

export function WholeInput(props: WholeProps) {
  return <NumberInput miw={150} min={1} allowDecimal={false} required {...props} />;
}
