# SPDX-License-Identifier: Apache-2.0
"""Events get hashes that link them; those that are there are linked in their order."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from mlhub.events.chain import GENESIS, hash_of


def link_events(apps, schema_editor):
    Event, ChainHead = apps.get_model("events", "Event"), apps.get_model("events", "ChainHead")
    previous, n_events = GENESIS, 0
    for event in Event.objects.order_by("id").iterator(chunk_size=2000):
        event.previous_hash, event.hash = previous, hash_of(event, previous)
        event.save(update_fields=["previous_hash", "hash"])
        previous, n_events = event.hash, n_events + 1
    ChainHead.objects.create(pk=1, hash=previous, n_events=n_events)


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0002_initial"),
        ("tenants", "0004_invitations_and_priorities"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="organisation",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="tenants.organisation",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="actor",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="previous_hash",
            field=models.CharField(max_length=64, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="event",
            name="hash",
            field=models.CharField(max_length=64, default=""),
            preserve_default=False,
        ),
        migrations.CreateModel(
            name="ChainHead",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("hash", models.CharField(default=GENESIS, max_length=64)),
                ("n_events", models.PositiveBigIntegerField(default=0)),
                ("first_hash", models.CharField(default=GENESIS, max_length=64)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="one_head_of_the_chain")],
            },
        ),
        migrations.RunPython(link_events, migrations.RunPython.noop),
    ]
