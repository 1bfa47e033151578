// SPDX-License-Identifier: Apache-2.0
// Why a job failed: the cause, whose fault it was, what to do, and the traceback for who wants it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Button, Code, Collapse, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";

import type { Failure } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { FAILURE_CAUSES } from "@/domain/failureCause";

import classes from "./FailureCard.module.css";

const FAULTS: Record<Failure["fault"], string> = {
  user: t`in the model, the data or the settings`,
  platform: t`on the platform`,
};

/** Fields that say no more than the message: the whole of what was uploaded. */
const UNSPECIFIC_FIELDS = ["", "file"];

export function FailureCard({ failure }: { failure: Failure }) {
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
