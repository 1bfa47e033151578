// SPDX-License-Identifier: Apache-2.0
// The colour of a job's lines and points, as a mark before its name.
import { useComputedColorScheme } from "@mantine/core";

import { colourOf } from "@/components/chart/colours";

export function Swatch({ place, isEmphasised }: { place: number; isEmphasised: boolean }) {
  const scheme = useComputedColorScheme("light");
  const height = isEmphasised ? 6 : 3;
  return <span aria-hidden style={{ flex: "none", width: 14, height, borderRadius: 2, background: colourOf(place, scheme) }} />;
}
