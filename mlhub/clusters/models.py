"""Nodes and racks, as the backend last showed them. Written by the control loop only."""

from __future__ import annotations

from django.db import models


class Rack(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    uplink_bps = models.FloatField()


class Node(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    rack = models.ForeignKey(Rack, on_delete=models.CASCADE, related_name="nodes")
    gpu_type = models.CharField(max_length=100)
    n_slots = models.PositiveIntegerField()
    cpus = models.FloatField()
    memory_bytes = models.PositiveBigIntegerField()
    nic_bps = models.FloatField()
    is_ready = models.BooleanField(default=True)
    is_schedulable = models.BooleanField(default=True)
    message = models.TextField(blank=True)
    observed_at = models.DateTimeField()
