// SPDX-License-Identifier: Apache-2.0
// The log of a job's pods: its newest lines followed as they come, or any part of it, by scrolling, search and time.
import { t } from "@lingui/core/macro";
import { ActionIcon, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { Problem } from "@/api/client";
import type { Attempt } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { LogLines } from "./LogLines";
import { LogToolbar, type LogSettings } from "./LogToolbar";
import { type LogFilter, type LogStart, logQuery } from "./logQueries";

interface Props {
  id: string;
  attempts: readonly Attempt[];
  /** Lines may still come. */
  isLive: boolean;
}

const NOTHING_ASKED: LogSettings = { pod: "", search: "", isRegex: false, from: "" };
const TYPING_MS = 400;
const REFRESH_MS = 1000; // between looks for new lines that match
const CONTEXT_LINES = 50; // rows of the job's stream before a line that is shown in its context

export function LogView({ id, attempts, isLive }: Props) {
  const [asked, setAsked] = useState(NOTHING_ASKED);
  const [context, setContext] = useState<number | null>(null);
  const [follows, setFollows] = useState(true);
  const [wanted] = useDebouncedValue(asked, TYPING_MS);
  const shown = context === null ? wanted : NOTHING_ASKED;
  const log = useInfiniteQuery(logQuery(id, startOf(shown, context), filterOf(shown)));
  const { hasNextPage, hasPreviousPage, isFetching, isError, fetchNextPage, fetchPreviousPage } = log;
  const lines = useMemo(() => log.data?.pages.flatMap((page) => page.lines) ?? [], [log.data]);
  const wrongSearch = log.error instanceof Problem ? log.error.of("search") : undefined;

  // The stream does not know which of its lines match: the server is asked again, now and then.
  useEffect(() => {
    if (!follows || !hasNextPage || isFetching || isError) return;
    const timer = setTimeout(() => void fetchNextPage(), REFRESH_MS);
    return () => clearTimeout(timer);
  }, [follows, hasNextPage, isFetching, isError, fetchNextPage]);

  function change(part: Partial<LogSettings>) {
    setAsked((known) => ({ ...known, ...part }));
    setContext(null);
    if (part.from !== undefined) setFollows(part.from === "");
  }

  function follow(isWanted: boolean) {
    setFollows(isWanted);
    if (isWanted) {
      setContext(null);
      setAsked((known) => ({ ...known, from: "" }));
    }
  }

  function showContext(seq: number) {
    setAsked(NOTHING_ASKED);
    setContext(Math.max(0, seq - CONTEXT_LINES));
    setFollows(false);
  }

  return (
    <div>
      <LogToolbar
        id={id}
        attempts={attempts}
        asked={asked}
        onChange={change}
        follows={follows}
        onFollow={follow}
        nFound={log.data?.pages[0]?.nFound ?? null}
        error={wrongSearch}
      />
      {wrongSearch === undefined && <ProblemAlert error={log.error} onRetry={() => void log.refetch()} />}
      {log.isPending && <Loading label={t`Loading the log`} />}
      {log.data !== undefined && (
        <LogLines
          lines={lines}
          follows={follows}
          onLeaveEnd={() => setFollows(false)}
          onNearStart={() => {
            if (hasPreviousPage && !isFetching) void fetchPreviousPage();
          }}
          onNearEnd={() => {
            if (hasNextPage && !isFetching) void fetchNextPage();
          }}
          empty={
            <Text size="sm" c="dimmed" component="div">
              {emptyText(shown, isLive)}
            </Text>
          }
          action={
            shown.search === ""
              ? undefined
              : ({ seq, number }) => (
                  <ActionIcon
                    size="xs"
                    variant="subtle"
                    ml={4}
                    aria-label={t`Show line ${number} in its context`}
                    onClick={() => showContext(seq)}
                  >
                    <Icon name="file" size={12} />
                  </ActionIcon>
                )
          }
        />
      )}
    </div>
  );
}

function filterOf({ pod, search, isRegex }: LogSettings): LogFilter {
  const [role, index] = pod.split(" ");
  return {
    ...(role === "worker" || role === "server" ? { role, index: Number(index) } : {}),
    ...(search === "" ? {} : { search, is_regex: isRegex }),
  };
}

function startOf({ from }: LogSettings, context: number | null): LogStart {
  if (context !== null) return { after: context };
  const at = from === "" ? null : new Date(from);
  return at === null || Number.isNaN(at.getTime()) ? null : { at: at.toISOString() };
}

function emptyText({ search, from }: LogSettings, isLive: boolean): string {
  if (search !== "") return t`No line matches.`;
  if (from !== "") return t`No lines from then on.`;
  return isLive ? t`No lines yet.` : t`No lines.`;
}
