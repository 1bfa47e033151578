# SPDX-License-Identifier: Apache-2.0
"""What the log of an installer says of its failure."""

from __future__ import annotations

from mlhub.environments.failures import failure_in

CONFLICT = """\
Using CPython 3.11.7 interpreter at: /usr/bin/python
error: No solution found when resolving dependencies
  cause: Because requests>=2.34.2 depends on urllib3>=1.26,<3 and you require requests==2.34.2, we can conclude that you
         And because you require urllib3==1.20, we can conclude that your requirements are unsatisfiable.
"""


def test_a_conflict_of_several_packages_is_explained_from_its_beginning() -> None:
    found = failure_in(CONFLICT, exit_code=1)
    assert found.code == "conflict"
    assert "built: Because requests>=2.34.2 depends on urllib3>=1.26,<3" in found.message
    assert found.message.endswith(
        "And because you require urllib3==1.20, we can conclude that your requirements are unsatisfiable."
    )
