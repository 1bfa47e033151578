# SPDX-License-Identifier: Apache-2.0
"""Empty on purpose: pods import mlhub.runtime and mlhub.wire, and must not pull in Django or Celery on the way."""
