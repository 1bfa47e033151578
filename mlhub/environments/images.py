# SPDX-License-Identifier: Apache-2.0
"""The container image that a job or its code brings: whether it is one, and whether this installation allows it."""

from __future__ import annotations

from django.conf import settings

from mlhub.core.errors import InvalidInputError
from mlhub.wire.images import EXAMPLE, allowed_images, is_allowed_image, is_reference


def check_image(image: str, *, origin: str = "") -> None:
    """Raises InvalidInputError for what no pod may run; an empty one is the platform's.

    origin: the file of the code that names the image; empty: the request itself does.
    """
    if not image:
        return
    if settings.BACKEND != "kubernetes":
        raise InvalidInputError(
            f"Pods of the backend {settings.BACKEND} run in no container, so that {image[:200]} cannot be used."
            if origin
            else f"Pods of the backend {settings.BACKEND} run in no container, so that a job cannot bring an image.",
            field="image",
            remedy=f"Leave image out of {origin}, and name the packages that the code requires in a requirements.txt."
            if origin
            else "Leave image out, and name the packages that the code requires in a requirements.txt.",
        )
    if not is_reference(image):
        raise InvalidInputError(
            f"{image[:200]!r} is no reference of a container image.",
            field="image",
            remedy=f"Write it as {EXAMPLE}, or with a digest, @sha256:..., after the name.",
        )
    allowed = allowed_images(settings.KUBERNETES.get("images", ""))
    if not allowed:
        raise InvalidInputError(
            f"{image[:200]} cannot be used: images are not allowed here."
            if origin
            else "No job may bring an image of its own here.",
            field="image",
            remedy=f"Leave image out of {origin}, or ask a platform administrator to allow it (MLHUB_KUBE_IMAGES)."
            if origin
            else "Leave image out, or ask a platform administrator to allow images (MLHUB_KUBE_IMAGES).",
        )
    if not is_allowed_image(image, allowed):
        listed = ", ".join(allowed)
        raise InvalidInputError(
            f"{image[:200]} is none of the images that are allowed here ({listed}).",
            field="image",
            remedy="Use one of these, or ask a platform administrator to allow it (MLHUB_KUBE_IMAGES).",
        )
