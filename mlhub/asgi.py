# SPDX-License-Identifier: Apache-2.0
"""The ASGI entry point: REST, dashboard and server-sent events from one process."""

import os

from django.core.asgi import get_asgi_application

from mlhub.core.secret_key import require_secret_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
require_secret_key()
application = get_asgi_application()
