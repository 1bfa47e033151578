// SPDX-License-Identifier: Apache-2.0
// A table that, where there is no room, scrolls inside its own frame (also with the keyboard), never the page. On a phone
// its rows are cards, a line for each cell with its column's title.
import { t } from "@lingui/core/macro";
import { Paper, Table } from "@mantine/core";
import type { PointerEvent, ReactNode } from "react";

import classes from "./ScrollTable.module.css";

/** Wider tables do not fit a phone. */
const PHONE_PX = 360;
const TITLE_PX = 84; // of a card's titles, at least
const LETTER_PX = 8; // of such a title, at most

interface Props {
  label: string;
  head: ReactNode[];
  minWidth?: number;
  /** Whether a row is one line: long texts end in dots, and are read whole under the pointer. */
  isOneLine?: boolean;
  children: ReactNode;
}

export function ScrollTable({ label, head, minWidth = 640, isOneLine = false, children }: Props) {
  return (
    <Paper withBorder className={classes.frame} tabIndex={0} role="region" aria-label={t`${label}, table`}>
      <Table
        aria-label={label}
        data-one-line={isOneLine || undefined}
        data-cards={minWidth > PHONE_PX || undefined}
        className={classes.table}
        style={{ "--min-width": `${minWidth}px`, "--title-width": `${titleWidth(head)}px`, ...titles(head) }}
        onPointerOver={isOneLine ? showWhole : undefined}
      >
        <Table.Thead>
          <Table.Tr>
            {head.map((title, index) => (
              <Table.Th key={index}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Paper>
  );
}

/** What the style sheet writes before cells: it cannot read the head. */
function titles(head: ReactNode[]): Record<string, string> {
  return Object.fromEntries(head.map((title, index) => [`--title-${index + 1}`, JSON.stringify(typeof title === "string" ? title : "")]));
}

/** A title is broken between its words only. */
function titleWidth(head: ReactNode[]): number {
  const words = head.flatMap((title) => (typeof title === "string" ? title.split(/\s+/) : []));
  return Math.max(TITLE_PX, ...words.map((word) => LETTER_PX * word.length));
}

/** The whole text of a cell that is cut off; a cell that says more itself keeps what it says. */
function showWhole({ target }: PointerEvent) {
  const cell = target instanceof Element ? target.closest("td") : null;
  if (cell === null || cell.title !== "") return;
  if ([cell, ...cell.querySelectorAll("a")].some((part) => part.scrollWidth > part.clientWidth)) cell.title = cell.textContent;
}
