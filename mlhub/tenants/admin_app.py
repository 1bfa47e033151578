# SPDX-License-Identifier: Apache-2.0
"""Django's registration of its admin site, with the site of the platform in place of its own."""

from django.contrib.admin.apps import AdminConfig


class PlatformAdminConfig(AdminConfig):
    default_site = "mlhub.tenants.admin_site.PlatformAdminSite"
