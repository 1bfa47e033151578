"""What runs in a pod: the launcher, the trainer, the strategies. Knows no Django, no Celery and no scheduler.

For scripts that train by themselves (docs/guides/bring-your-model.md) it offers a few functions, free of torch.
"""

from mlhub.runtime.script import checkpoint_folder, dataset_path, finish, hyperparameters, report, should_preempt

__all__ = ["checkpoint_folder", "dataset_path", "finish", "hyperparameters", "report", "should_preempt"]
