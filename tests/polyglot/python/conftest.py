"""So that a failed check says what it saw."""

import pytest

pytest.register_assert_rewrite("checks", "digests", "meaning", "sdks")
