# SPDX-License-Identifier: Apache-2.0
"""A database is emptied after a test by deleting the rows there are: TRUNCATE makes every table's files anew.

That takes 0.4 s of processors for the platform's tables, of which a test fills a few. Content types and permissions
stay, so Django's signal after a flush, whose receivers look for each of them (0.07 s of processors, and the server's
answers), is not sent.
"""

from __future__ import annotations

from typing import Any

from django.core.management.color import Style
from django.db.backends.postgresql.operations import DatabaseOperations

REFUSING = ["usage_usageentry"]  # tables from which no row can be deleted
FILLED_BY_TRIGGERS = {"metrics_detachedrows"}  # as rows of other tables are deleted: emptied after them
KEPT = {"django_content_type", "auth_permission"}  # the same ones would be made again
EMPTY = """
DO $$
DECLARE
    name text;
    is_filled boolean;
BEGIN
    LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE;
    SET CONSTRAINTS ALL DEFERRED;
    SET LOCAL mlhub.deletes_events = 'yes';
    FOREACH name IN ARRAY ARRAY[{names}] LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO is_filled;
        IF is_filled AND name = ANY(ARRAY[{refusing}]) THEN
            EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', name);
            EXECUTE format('DELETE FROM %I', name);
            EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', name);
        ELSIF is_filled THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
END $$;
"""


def delete_rows(operations: DatabaseOperations, style: Style, tables: list[str], **_: Any) -> list[str]:
    """What Django's flush runs instead of TRUNCATE; the lock waits for transactions that still write."""
    emptied = sorted((table for table in tables if table not in KEPT), key=FILLED_BY_TRIGGERS.__contains__)
    quoted = ", ".join(operations.quote_name(table) for table in emptied)
    return [EMPTY.format(tables=quoted, names=_literals(emptied), refusing=_literals(REFUSING))]


def send_nothing(*_: Any, **__: Any) -> None:
    """What Django's flush calls instead of emit_post_migrate_signal."""


def _literals(tables: list[str]) -> str:
    return ", ".join(f"'{table}'" for table in tables)
