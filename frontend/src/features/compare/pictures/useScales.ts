// SPDX-License-Identifier: Apache-2.0
// Which quantities have logarithmic axes: those that a linear one would crowd, unless the address says otherwise.
import { type Scale, allowsLog, scaleOf, suitsLog } from "@/components/chart/scale";

import { pairsOf, textOfPairs, useSetting } from "../useSetting";

interface Drawn {
  name: string;
  values: readonly (number | null)[];
  options?: readonly string[];
}

export function useScales() {
  const [text, setText] = useSetting("scales", "");
  const chosen = pairsOf(text);
  const isLog = ({ name, values, options }: Drawn) => options === undefined && (chosen.has(name) ? chosen.get(name) === "log" : suitsLog(values));
  return {
    scaleFor: (drawn: Drawn): Scale => scaleOf(drawn.values, isLog(drawn)),
    allowsLog: ({ values, options }: Drawn): boolean => options === undefined && allowsLog(values),
    /** What a quantity has anyway does not stand in the address. */
    choose: (drawn: Drawn, isWanted: boolean) => {
      const next = new Map(chosen);
      if (isWanted === suitsLog(drawn.values)) next.delete(drawn.name);
      else next.set(drawn.name, isWanted ? "log" : "linear");
      setText(textOfPairs(next));
    },
  };
}
