from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0014_environments'),
    ]

    operations = [
        migrations.AddField(
            model_name='attempt',
            name='batch_decision',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='attempt',
            name='batch_size',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
    ]
