// SPDX-License-Identifier: Apache-2.0
// A job that was paused while it was pending, with the button that resumes it.
import { t } from "@lingui/core/macro";
import { useQueryClient } from "@tanstack/react-query";

import { resume } from "../queries";
import { DoneBar } from "./DoneBar";

interface Props {
  job: { id: string; name: string };
  onClose: () => void;
}

export function PausedBar({ job, onClose }: Props) {
  const queries = useQueryClient();
  return <DoneBar text={t`${job.name} is paused: it is out of the queue until it is resumed.`} takeBack={() => resume(queries, job.id)} onClose={onClose} />;
}
