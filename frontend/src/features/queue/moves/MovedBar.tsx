// SPDX-License-Identifier: Apache-2.0
// A move that was made, with the button that takes it back.
import { t } from "@lingui/core/macro";
import { useQueryClient } from "@tanstack/react-query";

import { givePriority } from "../queries";
import { DoneBar } from "./DoneBar";

export interface Moved {
  job: { id: string; name: string };
  priority: number;
  formerPriority: number;
}

export function MovedBar({ moved, onClose }: { moved: Moved; onClose: () => void }) {
  const queries = useQueryClient();
  return (
    <DoneBar
      text={t`${moved.job.name} has priority ${moved.priority} now; the next round moves it.`}
      takeBack={() => givePriority(queries, moved.job.id, moved.formerPriority)}
      onClose={onClose}
    />
  );
}
