"""The fake backend against the conformance suite, with each kind of memory."""

import pytest

from engine.backends.fake import FakeBackend, FakeOptions
from tests.backends.conformance import BackendConformance


class TestFakeFull(BackendConformance):
    @pytest.fixture
    def backend(self) -> FakeBackend:
        return FakeBackend(96, 3, FakeOptions())


class TestFakeWindow(BackendConformance):
    removes_suffix = False
    forks_prefix = False

    @pytest.fixture
    def backend(self) -> FakeBackend:
        return FakeBackend(96, 3, FakeOptions(memory="window", window=4))


class TestFakeRecurrent(BackendConformance):
    removes_suffix = False
    forks_prefix = False

    @pytest.fixture
    def backend(self) -> FakeBackend:
        return FakeBackend(96, 3, FakeOptions(memory="recurrent"))
