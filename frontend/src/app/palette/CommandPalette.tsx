// SPDX-License-Identifier: Apache-2.0
// The command palette: a few letters find a page, a job, data or a model, or run a command. Arrows choose, Enter opens.
import { t } from "@lingui/core/macro";
import { Modal, Text, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";

import { useMe } from "@/api/session";
import { Icon } from "@/components/display/Icon";

import { type Entry, commandsOf, jobsFoundQuery, matching, namedQuery, pagesOf } from "./entries";
import classes from "./CommandPalette.module.css";

const SETTLED_MS = 150;
const MOST_PAGES = 20;

interface Props {
  onClose: () => void;
  onKeys: () => void;
}

export function CommandPalette({ onClose, onKeys }: Props) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const entries = useEntries(text, onKeys);
  const navigate = useNavigate();
  const list = useRef<HTMLDivElement>(null);
  const listId = useId();
  const at = Math.min(chosen, entries.length - 1);

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at]);

  function take(entry: Entry | undefined) {
    if (entry === undefined) return;
    onClose();
    entry.run?.();
    if (entry.to !== undefined) void navigate(entry.to);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((at + step + entries.length) % Math.max(1, entries.length));
    else if (event.key === "Enter") take(entries[at]);
    else return;
    event.preventDefault();
  }

  const active = entries[at];
  return (
    <Modal opened onClose={onClose} withCloseButton={false} centered={false} yOffset="12vh" size={600} padding={0} aria-label={t`Search`}>
      <div className={classes.top}>
        <Icon name="search" />
        <input
          className={classes.input}
          data-autofocus
          role="combobox"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={active && `${listId}-${at}`}
          aria-label={t`Search pages, jobs, data and models`}
          placeholder={t`Search pages, jobs, data and models`}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div ref={list} id={listId} role="listbox" aria-label={t`Found`} className={classes.list}>
        {entries.map((entry, index) => (
          <div key={`${entry.group} ${entry.id}`} role="presentation">
            {entry.group !== entries[index - 1]?.group && (
              <Text size="xs" fw={600} c="dimmed" className={classes.heading} role="presentation">
                {entry.group}
              </Text>
            )}
            <div
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === at}
              className={classes.entry}
              onPointerMove={() => setChosen(index)}
              onClick={() => take(entry)}
            >
              <Icon name={entry.icon} size={16} />
              <span className={classes.label} dir="auto">{entry.label}</span>
              <span className={classes.detail}>{entry.detail}</span>
            </div>
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <Text size="sm" c="dimmed" p="md" role="status">
          {t`Nothing has this name. Jobs are found by name, owner, model, dataset or id.`}
        </Text>
      )}
    </Modal>
  );
}

/** Without a text: commands and pages. With one: jobs first, as they are searched for most often. */
function useEntries(text: string, onKeys: () => void): Entry[] {
  const me = useMe();
  const { setColorScheme } = useMantineColorScheme();
  const wanted = text.trim();
  const [settled] = useDebouncedValue(wanted, SETTLED_MS);
  const jobs = useQuery({ ...jobsFoundQuery(settled), enabled: settled !== "", placeholderData: keepPreviousData }).data ?? [];
  const named = useQuery({ ...namedQuery, enabled: wanted !== "" }).data ?? [];
  const known = [...commandsOf(setColorScheme, onKeys), ...pagesOf(me)];
  if (wanted === "") return known;
  return [...matching(known, wanted, MOST_PAGES), ...(settled === "" ? [] : jobs), ...matching(named, wanted)];
}
