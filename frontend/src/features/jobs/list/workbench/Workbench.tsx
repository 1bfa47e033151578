// SPDX-License-Identifier: Apache-2.0
// The list of jobs and, next to it, the one that was chosen; the line between them can be moved. Escape closes the job, and the
// keyboard is in its row again.
import { t } from "@lingui/core/macro";
import { ActionIcon, CloseButton, Group } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useRef } from "react";
import { Link } from "react-router";

import { Icon } from "@/components/display/Icon";
import { Loading } from "@/components/feedback/Loading";
import { Splitter, useSplit } from "@/components/layout/Splitter";
import { lazyComponent } from "@/lib/chunk";

import classes from "./Workbench.module.css";

/** With curve and log: the list does not wait for it. */
const JobPanel = lazyComponent(async () => (await import("../../detail/panel/JobPanel")).JobPanel);

interface Props {
  chosen: string | undefined;
  /** How often one asked to go on in the job that is next to the list. */
  nEntered: number;
  onClose: () => void;
  children: ReactNode;
}

export function Workbench({ chosen, nEntered, onClose, children }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLElement>(null);
  const nFollowed = useRef(0);
  const { style, splitter } = useSplit("mlhub-jobs-split");
  useEffect(() => {
    if (panel.current === null || nFollowed.current === nEntered) return; // the address comes a moment later
    nFollowed.current = nEntered;
    panel.current.focus();
  }, [nEntered, chosen]);

  function close() {
    const row = chosen === undefined ? null : list.current?.querySelector<HTMLElement>(`[data-job="${CSS.escape(chosen)}"]`);
    (row ?? list.current?.querySelector<HTMLElement>("[role=table]"))?.focus();
    onClose();
  }

  function onKeyDown(event: KeyboardEvent) {
    const isInside = event.target instanceof Node && event.currentTarget.contains(event.target); // no dialogue of the panel
    if (event.key === "Escape" && chosen !== undefined && isInside && !event.defaultPrevented) close();
  }

  return (
    <div className={classes.bench} data-open={chosen !== undefined || undefined} style={style} onKeyDown={onKeyDown}>
      <div ref={list} className={classes.list}>
        {children}
      </div>
      {chosen !== undefined && <Splitter label={t`Width of the list`} {...splitter} />}
      {chosen !== undefined && (
        <section ref={panel} className={classes.panel} aria-label={t`Chosen job`} tabIndex={-1}>
          <Group className={classes.corner} gap={2}>
            <ActionIcon component={Link} to={`/jobs/${encodeURIComponent(chosen)}`} size="sm" variant="subtle" color="gray" aria-label={t`Open the job's page`}>
              <Icon name="expand" size={15} />
            </ActionIcon>
            <CloseButton size="sm" aria-label={t`Close the job`} onClick={close} />
          </Group>
          <Suspense fallback={<Loading />}>
            <JobPanel key={chosen} id={chosen} onClose={close} />
          </Suspense>
        </section>
      )}
    </div>
  );
}
