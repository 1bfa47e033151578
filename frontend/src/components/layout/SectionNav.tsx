// SPDX-License-Identifier: Apache-2.0
// Links to the parts of a long page, which stay at its top while one scrolls. Cards announce themselves when they appear.
import { t } from "@lingui/core/macro";
import { Anchor, Box } from "@mantine/core";
import { type ReactNode, createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";

import classes from "./SectionNav.module.css";

interface Entry {
  title: string;
  element: HTMLElement;
}

const Announce = createContext<((entry: Entry) => () => void) | null>(null);
const Entries = createContext<readonly Entry[]>([]);
const MIDDLE = "-20% 0px -70% 0px"; // of the window: the part that is there is the one that is read

export function WithSections({ children }: { children: ReactNode }) {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const announce = useCallback((entry: Entry) => {
    setEntries((known) => [...known, entry].sort(inPage));
    return () => setEntries((known) => known.filter((other) => other !== entry));
  }, []);
  return (
    <Announce value={announce}>
      <Entries value={entries}>{children}</Entries>
    </Announce>
  );
}

/** For a titled card: its id and its place in the list of links, on pages that have one. */
export function useSection<T extends HTMLElement>(title: string) {
  const announce = useContext(Announce);
  const ref = useRef<T>(null);
  const id = announce === null ? undefined : idOf(title);
  useEffect(() => {
    const element = ref.current;
    if (announce === null || element === null) return;
    if (location.hash === `#${idOf(title)}`) element.scrollIntoView();
    return announce({ title, element });
  }, [announce, title]);
  return useMemo(() => ({ ref, id, className: announce === null ? undefined : classes.section }), [announce, id]);
}

export function SectionNav() {
  const entries = useContext(Entries);
  const current = useCurrent(entries);
  return (
    <Box component="nav" className={classes.nav} aria-label={t`On this page`}>
      {entries.map(({ title }) => (
        <Anchor
          key={title}
          href={`#${idOf(title)}`}
          size="sm"
          className={classes.link}
          aria-current={title === current ? "location" : undefined}
        >
          {title}
        </Anchor>
      ))}
    </Box>
  );
}

function useCurrent(entries: readonly Entry[]): string {
  const [current, setCurrent] = useState("");
  useEffect(() => {
    const observer = new IntersectionObserver(
      (found) => {
        const seen = found.find(({ isIntersecting }) => isIntersecting);
        const entry = entries.find(({ element }) => element === seen?.target);
        if (entry !== undefined) setCurrent(entry.title);
      },
      { rootMargin: MIDDLE },
    );
    for (const { element } of entries) observer.observe(element);
    return () => observer.disconnect();
  }, [entries]);
  return current;
}

function inPage(one: Entry, other: Entry): number {
  return one.element.compareDocumentPosition(other.element) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

function idOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}
