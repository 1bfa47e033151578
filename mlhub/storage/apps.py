# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "mlhub.storage"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.storage.models import Holding
        from mlhub.tenants.parts import PARTS_OF_CONTENTS

        PARTS_OF_CONTENTS.add(Holding)
