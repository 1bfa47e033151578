# SPDX-License-Identifier: Apache-2.0
"""The ASGI entry point: REST, dashboard and server-sent events from one process."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
application = get_asgi_application()
