# SPDX-License-Identifier: Apache-2.0
"""The ASGI entry point: REST, dashboard, server-sent events and the way to notebooks from one process."""

import gc
import os
import sys

from mlhub.wire.imports import without_garbage_collection

# A request comes back from each of its queries to threads that compute. By default it waits up to 5 ms for each of
# them, dozens of times, so that a few submissions under way would slow every page down.
SWITCH_INTERVAL_S = 0.001
sys.setswitchinterval(SWITCH_INTERVAL_S)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
# a collection that looked at all that is imported here would stop every request for a tenth of a second
with without_garbage_collection():
    import django

    from mlhub.core.security.secret_key import require_secret_key
    from mlhub.storage.streamed_uploads import SplitUploads

    require_secret_key()
    django.setup(set_prefix=False)

    from django.conf import settings  # (all of these need Django to be set up)
    from django.urls import get_resolver

    from mlhub.core.asgi_handler import OneThreadHandler
    from mlhub.core.database.base import keep_connections
    from mlhub.notebooks.proxy import NotebookHosts

    keep_connections(settings.IDLE_CONNECTIONS)
    django_application = OneThreadHandler()
    application = NotebookHosts(SplitUploads(django_application))
    get_resolver().url_patterns  # noqa: B018 (imports the views)

# A request leaves some hundreds of objects in cycles. To look for them after each 700 objects that are left takes a
# twentieth of its processor time (benchmarks/request_cost.py).
YOUNG = 20_000
gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
