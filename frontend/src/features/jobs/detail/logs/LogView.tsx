// SPDX-License-Identifier: Apache-2.0
// The log of a job's pods: its newest lines followed as they come, or any part of it, by scrolling, search and time.
import { t } from "@lingui/core/macro";
import { ActionIcon, Button, Group, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";

import { Problem } from "@/api/client";
import type { Attempt } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { Loading } from "@/components/feedback/Loading";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";

import { ErrorJumps, type Jump } from "./ErrorJumps";
import { LogLines, type LogViewport } from "./LogLines";
import { LogMinimap } from "./LogMinimap";
import { LogToolbar, type LogSettings } from "./LogToolbar";
import classes from "./LogView.module.css";
import { type LogFilter, type LogStart, findError, logQuery, useLogOverview } from "./logQueries";
import { hasLine, type LogRow, logRows } from "./logRows";

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
  const [target, setTarget] = useState<{ seq: number } | null>(null);
  const [view, setView] = useState<LogViewport | null>(null);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [follows, setFollows] = useState(true);
  const [wanted] = useDebouncedValue(asked, TYPING_MS);
  const shown = context === null ? wanted : asked; // a place is asked for by a click, not by typing
  const log = useInfiniteQuery(logQuery(id, startOf(shown, context), filterOf(shown)));
  const { hasNextPage, hasPreviousPage, isFetching, isError, fetchNextPage, fetchPreviousPage } = log;
  const lines = useMemo(() => log.data?.pages.flatMap((page) => page.lines) ?? [], [log.data]);
  const rows = useMemo(() => logRows(lines, opened), [lines, opened]);
  const { data: overview, ...looked } = useLogOverview(id, filterOf(shown));
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
    setTarget(null);
    if (part.from !== undefined) setFollows(part.from === "");
  }

  function follow(isWanted: boolean) {
    setFollows(isWanted);
    if (isWanted) {
      setContext(null);
      setAsked((known) => ({ ...known, from: "" }));
    }
  }

  /** Shows the log around a line, of the pods that are asked for unless all are wanted. */
  function show(seq: number, ofPod: string) {
    setAsked({ ...NOTHING_ASKED, pod: ofPod });
    setFollows(false);
    setTarget({ seq });
    const isThere = shown.search === "" && shown.pod === ofPod && lines.some((line) => line.seq === seq);
    if (!isThere) setContext(Math.max(0, seq - CONTEXT_LINES));
    else if (context === null && shown.from !== "") setContext(Math.max(0, (lines[0]?.seq ?? 1) - 1));
  }

  const jump = useMutation({
    mutationFn: (where: Jump) => {
      const gone = target === null ? undefined : rows.find((row) => hasLine(row, target.seq));
      return findError(id, startOfJump(where, gone, view), filterOf({ ...NOTHING_ASKED, pod: asked.pod }));
    },
    onSuccess: (seq) => {
      if (seq !== null) show(seq, asked.pod);
    },
  });

  /** Where the minimap was clicked: the first error there, or else what is there. */
  const go = useMutation({
    mutationFn: async ({ seq, hasErrors }: { seq: number; hasErrors: boolean }) => {
      const pods = filterOf({ ...NOTHING_ASKED, pod: asked.pod });
      return hasErrors && asked.search === "" ? ((await findError(id, { after: seq - 1 }, pods)) ?? seq) : seq;
    },
    onSuccess: (seq, { hasErrors }) => {
      if (hasErrors && asked.search === "") show(seq, asked.pod);
      else {
        setAsked((known) => ({ ...known, from: "" }));
        setFollows(false);
        setTarget(null);
        setContext(Math.max(0, seq - 1));
      }
    },
  });

  const toggle = useCallback((seq: number) => {
    setFollows(false);
    setOpened((known) => (known.has(seq) ? new Set([...known].filter((one) => one !== seq)) : new Set([...known, seq])));
  }, []);

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
        jumps={
          overview !== undefined && (
            <ErrorJumps
              nErrors={overview.n_errors}
              isBusy={jump.isPending}
              hasNone={jump.data === null ? jump.variables : null}
              onJump={(where) => jump.mutate(where)}
            />
          )
        }
      />
      <ProblemAlert error={jump.error ?? go.error} />
      {wrongSearch === undefined && <ProblemAlert error={log.error} onRetry={() => void log.refetch()} />}
      {log.error === null && looked.error !== null && (
        <Group gap="xs" mb="xs" role="status">
          <Text size="sm" c="dimmed">{t`Where errors are in the whole log could not be read: ${looked.error.message}`}</Text>
          <Button size="compact-xs" variant="default" loading={looked.isFetching} onClick={() => void looked.refetch()}>
            {t`Try again`}
          </Button>
        </Group>
      )}
      <div className={classes.frame}>
        {log.isPending && (
          <div className={classes.box}>
            <Loading label={t`Loading the log`} />
          </div>
        )}
        {log.data !== undefined && (
          <LogLines
            rows={rows}
            follows={follows}
            target={target}
            onView={setView}
            onToggle={toggle}
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
            action={shown.search === "" ? undefined : ({ seq, number }) => <ContextButton number={number} onShow={() => show(seq, "")} />}
          />
        )}
        {overview !== undefined && (
          <LogMinimap overview={overview} view={view} onGo={(seq, hasErrors) => go.mutate({ seq, hasErrors })} />
        )}
      </div>
    </div>
  );
}

/** Of a line that a search found. */
function ContextButton({ number, onShow }: { number: number; onShow: () => void }) {
  return (
    <ActionIcon size="xs" variant="subtle" ml={4} aria-label={t`Show line ${number} in its context`} onClick={onShow}>
      <Icon name="file" size={12} />
    </ActionIcon>
  );
}

/** From the row that was gone to, a whole traceback perhaps, while it is in view; else from what is. */
function startOfJump(where: Jump, row: LogRow | undefined, view: LogViewport | null): { after: number } | { before: number } {
  if (where === "first") return { after: 0 };
  const isInView = row !== undefined && view !== null && row.line.seq >= view.top && row.line.seq <= view.bottom;
  const [from, to] = isInView ? [row.traceback[0]?.seq ?? row.line.seq, row.line.seq] : [view?.top ?? 0, (view?.top ?? 1) - 1];
  return where === "next" ? { after: Math.max(0, to) } : { before: from };
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
