// SPDX-License-Identifier: Apache-2.0
// Which quantities have logarithmic axes: those that a linear one would crowd, unless the address says otherwise.
import { useMemo } from "react";

import { type Scale, allowsLog, scaleOf, suitsLog } from "@/components/chart/scale";

import { pairsOf, textOfPairs, useSetting } from "@/components/chart/address/useSetting";

interface Drawn {
  name: string;
  values: readonly (number | null)[];
  options?: readonly string[];
}

function hasLog({ values, options }: Drawn): boolean {
  return options === undefined && allowsLog(values);
}

function scalesBy(chosen: ReadonlyMap<string, string>): (drawn: Drawn) => Scale {
  return ({ name, values, options }) => {
    const isLog = chosen.has(name) ? chosen.get(name) === "log" : suitsLog(values);
    return scaleOf(values, options === undefined && isLog);
  };
}

export function useScales() {
  const [text, setText] = useSetting("scales", "");
  const scaleFor = useMemo(() => scalesBy(pairsOf(text)), [text]);
  return {
    /** The same function until another is chosen. */
    scaleFor,
    allowsLog: hasLog,
    /** What a quantity has anyway does not stand in the address. */
    choose: (drawn: Drawn, isWanted: boolean) => {
      const next = pairsOf(text);
      if (isWanted === suitsLog(drawn.values)) next.delete(drawn.name);
      else next.set(drawn.name, isWanted ? "log" : "linear");
      setText(textOfPairs(next));
    },
  };
}
