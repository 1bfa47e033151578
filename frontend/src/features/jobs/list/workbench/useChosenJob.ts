// SPDX-License-Identifier: Apache-2.0
// The job that is shown next to the list: it is in the address, so that a link, a reload and going back show the same.
import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { useSearchParams } from "react-router";

/** From here on there is room for a job next to the list. */
const WIDE = "(min-width: 75em)";

export function useChosenJob() {
  const [search, setSearch] = useSearchParams();
  const hasRoom = useMediaQuery(WIDE, true, { getInitialValueInEffect: false });
  const named = search.get("job") || undefined;
  const [leadsToPage] = useState(!hasRoom && named !== undefined);

  /** undefined: none. The first one is a step that one can go back from; those after it take its place. */
  function choose(id: string | undefined) {
    if (id === named) return;
    setSearch(
      (known) => {
        if (id === undefined) known.delete("job");
        else known.set("job", id);
        return known;
      },
      { replace: named !== undefined, preventScrollReset: true },
    );
  }

  return {
    hasRoom,
    chosen: hasRoom ? named : undefined,
    choose,
    /** The page of the job that the address names, where it was opened without room for it. */
    pageInstead: leadsToPage && named !== undefined ? `/jobs/${encodeURIComponent(named)}` : null,
  };
}
