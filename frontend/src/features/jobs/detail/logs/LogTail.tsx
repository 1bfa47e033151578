// SPDX-License-Identifier: Apache-2.0
// The newest lines of a job's log as they come, in whatever room there is; its page has search, pods and times.
import { t } from "@lingui/core/macro";
import { Button, Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { TextLink } from "@/components/display/TextLink";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { tabAddress } from "../tabs/tabs";
import { LogLines } from "./LogLines";
import { logQuery } from "./logQueries";
import { logRows } from "./logRows";
import classes from "./LogTail.module.css";

interface Props {
  id: string;
  /** Lines may still come. */
  isLive: boolean;
}

export function LogTail({ id, isLive }: Props) {
  const [follows, setFollows] = useState(true);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const log = useInfiniteQuery(logQuery(id, null, {}));
  const { hasPreviousPage, isFetching, fetchPreviousPage } = log;
  const rows = useMemo(() => logRows(log.data?.pages.flatMap(({ lines }) => lines) ?? [], opened), [log.data, opened]);
  const toggle = useCallback((seq: number) => {
    setFollows(false);
    setOpened((known) => (known.has(seq) ? new Set([...known].filter((one) => one !== seq)) : new Set([...known, seq])));
  }, []);
  return (
    <section className={classes.tail} aria-label={t`Log`}>
      <Group justify="space-between" mih={22}>
        <Title order={3} size="h5">
          {t`Log`}
        </Title>
        <Group gap="sm">
          {!follows && (
            <Button size="compact-xs" variant="light" onClick={() => setFollows(true)}>
              {t`Follow`}
            </Button>
          )}
          <Text size="sm" component="span">
            <TextLink to={tabAddress(id, "logs")}>{t`Whole log`}</TextLink>
          </Text>
        </Group>
      </Group>
      <ProblemAlert error={log.error} onRetry={() => void log.refetch()} />
      {log.isPending && <Loading label={t`Loading the log`} />}
      {log.data !== undefined && (
        <LogLines
          rows={rows}
          follows={follows}
          target={null}
          onView={ignore}
          onToggle={toggle}
          onLeaveEnd={() => setFollows(false)}
          onNearStart={() => {
            if (!follows && hasPreviousPage && !isFetching) void fetchPreviousPage();
          }}
          onNearEnd={ignore}
          empty={
            <Text size="sm" c="dimmed" component="div">
              {isLive ? t`No lines yet.` : t`No lines.`}
            </Text>
          }
        />
      )}
    </section>
  );
}

/** Nothing here shows which part of the log is in view, and its end is always there. */
function ignore() {
  // See above.
}
