# SPDX-License-Identifier: Apache-2.0
"""The program that an exported model carries: it reads the folder of an export and predicts with torch and NumPy.

Within an export, the modules that only import others from mlhub are replaced by those others (mlhub/registry/export).
"""
