// SPDX-License-Identifier: Apache-2.0
// Why a job failed: the cause, whose fault it was, what to do, and the traceback for who wants it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Code, Collapse, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { canChangeJob, useMe } from "@/api/session";
import type { Failure, Job } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { FAILURE_CAUSES } from "@/domain/failureCause";
import { checkpointsQuery } from "@/features/jobs/queries";
import { number } from "@/lib/quantities";

import classes from "./FailureCard.module.css";

const FAULTS: Record<Failure["fault"], string> = {
  user: t`in the model, the data or the settings`,
  platform: t`on the platform`,
};

/** Fields that say no more than the message: the whole of what was uploaded. */
const UNSPECIFIC_FIELDS = ["", "file"];

export function FailureCard({ job, failure }: { job: Job; failure: Failure }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  return (
    <Alert
      color="red"
      icon={<Icon name="alert" />}
      title={t`${FAILURE_CAUSES[failure.cause]} – the fault is ${FAULTS[failure.fault]}`}
    >
      <Text size="sm" style={{ overflowWrap: "anywhere", whiteSpace: "pre-line" }}>
        {failure.message}
      </Text>
      {failure.field !== null && !UNSPECIFIC_FIELDS.includes(failure.field) && (
        <Text size="sm" mt={4}>
          <Trans>
            Where: <Code>{failure.field}</Code>
          </Trans>
        </Text>
      )}
      {failure.remedy !== "" && (
        <Text size="sm" mt={4} fw={600}>
          {t`What to do: ${failure.remedy}`}
        </Text>
      )}
      {job.kind === "train" && job.preflight === "passed" && <ResumeHint job={job} />}
      {failure.traceback !== "" && failure.traceback !== null && (
        <>
          <Button variant="default" size="xs" mt="sm" onClick={toggle} aria-expanded={isOpen}>
            {isOpen ? t`Hide traceback` : t`Show traceback`}
          </Button>
          <Collapse expanded={isOpen} keepMounted={false}>
            <Code block mt="xs" className={classes.traceback} tabIndex={0} role="region" aria-label={t`Traceback`}>
              {failure.traceback}
            </Code>
          </Collapse>
        </>
      )}
    </Alert>
  );
}

/** That it can be continued, where there is what it would go on from. */
function ResumeHint({ job }: { job: Job }) {
  const me = useMe();
  const { data: checkpoints = [] } = useQuery(checkpointsQuery(job));
  const steps = checkpoints.filter(({ is_best }) => !is_best).map(({ step }) => step);
  if (steps.length === 0 || !canChangeJob(me, job.project, job.created_by)) return null;
  const newest = number(Math.max(...steps));
  return (
    <Text size="sm" mt={4}>
      {t`If the cause is gone, Resume continues from the newest checkpoint, of step ${newest}, with the same code and settings.`}
    </Text>
  );
}
