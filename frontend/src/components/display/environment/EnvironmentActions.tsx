// SPDX-License-Identifier: Apache-2.0
// What people do with an environment: stop its build, begin it again, and delete what no code requires.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { buildEnvironment, deleteEnvironment, stopBuild } from "@/api/environments";
import { canWriteIn, useMe } from "@/api/session";
import type { Environment } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";

interface Props {
  environment: Environment;
  /** Whether it can be deleted here, too. */
  mayDelete?: boolean;
  onDeleted?: () => void;
}

/** Nothing for those who may not upload code there. */
export function EnvironmentActions({ environment, mayDelete = false, onDeleted }: Props) {
  const { id, state, origin, organisation } = environment;
  const queries = useQueryClient();
  const me = useMe();
  const changed = () => Promise.all([["environments"], ["environment", id]].map((queryKey) => queries.invalidateQueries({ queryKey })));
  const build = useMutation({ mutationFn: () => buildEnvironment(id), onSuccess: changed });
  if (!canWriteIn(me, organisation)) return null;

  async function stop() {
    await stopBuild(id);
    await changed();
  }

  async function remove() {
    await deleteEnvironment(id);
    queries.removeQueries({ queryKey: ["environment", id] });
    onDeleted?.();
    await queries.invalidateQueries({ queryKey: ["environments"] });
  }

  return (
    <>
      {state === "building" && (
        <ConfirmButton
          label={t`Stop the build`}
          ariaLabel={t`Stop the build of ${origin}`}
          title={t`Stop the build?`}
          text={t`Code and jobs that wait for these packages are refused, with your name as the cause. The next upload that requires them builds them anew.`}
          action={stop}
          dismiss={t`Let it go on`}
        />
      )}
      {state === "failed" && (
        <Button variant="light" size="xs" loading={build.isPending} onClick={() => build.mutate()} aria-label={t`Build ${origin} again`}>
          {t`Build again`}
        </Button>
      )}
      {mayDelete && state !== "building" && (
        <ConfirmButton
          label={t`Delete`}
          ariaLabel={t`Delete the environment of ${origin}`}
          title={t`Delete the environment?`}
          text={t`Its packages are removed and no longer count in the storage quota. It is refused while code that can be used requires it.`}
          action={remove}
        />
      )}
      <ProblemAlert error={build.error} />
    </>
  );
}
