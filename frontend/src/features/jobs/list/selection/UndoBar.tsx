// SPDX-License-Identifier: Apache-2.0
// What was done to many jobs, and to be taken back: of those that refuse it, why.
import { plural, t } from "@lingui/core/macro";
import { useQueryClient } from "@tanstack/react-query";

import { DoneBar } from "@/components/feedback/DoneBar";

import { RefusedJobs } from "./RefusedJobs";
import { type Undo, takeBack } from "./bulk";
import { tagsQuery } from "../tags";

interface Props {
  undo: Undo;
  onClose: () => void;
  /** The jobs of these ids are as they were left. */
  onDone: (ids: readonly string[]) => void;
}

export function UndoBar({ undo, onClose, onDone }: Props) {
  const queries = useQueryClient();
  return (
    <DoneBar
      text={doneText(undo)}
      takeBack={() => takeBack(undo)}
      onTried={() => {
        onDone(undo.ids);
        void queries.invalidateQueries({ queryKey: ["jobs"] });
        void queries.invalidateQueries({ queryKey: tagsQuery.queryKey });
      }}
      onTaken={(outcomes) => {
        if (outcomes.every(({ refusal }) => refusal === "")) onClose();
      }}
      onClose={onClose}
    >
      {(outcomes) => <RefusedJobs outcomes={outcomes} />}
    </DoneBar>
  );
}

/** What the act did that is taken back by this. */
function doneText({ action, ids, tag }: Undo): string {
  const jobs = plural(ids.length, { one: "# job", other: "# jobs" });
  switch (action) {
    case "resume":
      return t`Paused: ${jobs}.`;
    case "pause":
      return t`Resumed: ${jobs}.`;
    case "untag":
      return t`Tagged ${tag}: ${jobs}.`;
    case "tag":
      return t`No longer tagged ${tag}: ${jobs}.`;
    case "priority":
      return t`Another priority: ${jobs}.`;
  }
}
