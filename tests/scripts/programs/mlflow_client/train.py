# SPDX-License-Identifier: Apache-2.0
"""Fits a line, and logs by MLflow's own client: parameters, metrics, a nested run and a file."""

import mlflow
import torch

generator = torch.Generator().manual_seed(0)
inputs = torch.randn(256, 1, generator=generator)
targets = 3 * inputs + 1 + 0.01 * torch.randn(256, 1, generator=generator)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

mlflow.set_experiment("line fitting")
with mlflow.start_run(run_name="sgd") as run:
    mlflow.log_params({"optimizer": "SGD", "lr": 0.1})
    for step in range(50):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mlflow.log_metric("loss", loss.item(), step=step)
    mlflow.log_metrics({"val/mse": loss.item(), "steps": 50.0}, step=49)
    with mlflow.start_run(run_name="fold", nested=True):
        mlflow.log_metric("loss", 1.0)
    mlflow.log_text(f"slope {model.weight.item():.2f}", "notes/slope.txt")
    mlflow.set_tag("kind", "example")
assert len(mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")) == 50
torch.save(model.state_dict(), "line.pt")
