from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metrics', '0009_speed_sample_colocated_with'),
    ]

    operations = [
        migrations.AddField(
            model_name='speedsample',
            name='by_batch',
            field=models.JSONField(default=dict),
        ),
    ]
