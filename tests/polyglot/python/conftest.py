"""So that a failed check says what it saw."""

import pytest

pytest.register_assert_rewrite("checks", "meaning", "sdks")
