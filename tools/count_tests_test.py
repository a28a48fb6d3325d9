"""Holds tools/count_tests.py to hand-written event and JUnit files."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from tools import count_tests

GTEST = """<testsuites tests="4" failures="1" disabled="1" errors="0" name="AllTests">
 <testsuite name="Reader" tests="4">
  <testcase name="Good" status="run" result="completed" classname="Reader"/>
  <testcase name="Bad" status="run" result="completed" classname="Reader"><failure message="1 vs 2"/></testcase>
  <testcase name="Gpu" status="run" result="skipped" classname="Reader"><skipped message="no GPU"/></testcase>
  <testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="Reader"/>
 </testsuite>
</testsuites>"""
PASSING = '<testsuites><testsuite name="a"><testcase name="a" status="run"/></testsuite></testsuites>'


class CountTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.results = pathlib.Path(self.folder.name, "results")
        self.results.mkdir()
        self.events = []

    def configured(self, label, test_size="MEDIUM"):
        self.events.append({"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": test_size}})

    def result(self, label, status, xml=None, shard=1, attempt=1):
        output = []
        if xml is not None:
            path = pathlib.Path(self.folder.name, "%s %d %d.xml" % (label.strip("/"), shard, attempt))
            path.write_text(xml)
            output.append({"name": "test.xml", "uri": path.as_uri()})
        key = {"label": label, "run": 1, "shard": shard, "attempt": attempt}
        self.events.append({"id": {"testResult": key}, "testResult": {"status": status, "testActionOutput": output}})

    def completed(self, label, success):
        self.events.append({"id": {"targetCompleted": {"label": label}}, "completed": {"success": True} if success else {}})

    def count(self, exit_code=0, exit_name="SUCCESS"):
        """Runs the counter; returns its lines and its exit code."""
        self.events.append({"id": {}, "finished": {"exitCode": {"name": exit_name, "code": exit_code}}})
        text = "".join(json.dumps(event) + "\n" for event in self.events)
        (self.results / "tests.json").write_text(text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = count_tests.main(str(self.results))
        return printed.getvalue().splitlines(), code

    def test_counts_the_cases_of_a_program(self):
        self.result("//a", "FAILED", GTEST)
        self.assertEqual(
            self.count(3, "TESTS_FAILED"), (["FAILED tests: //a Reader.Bad", "1 passed, 1 failed, 2 skipped"], 1)
        )

    def test_all_passed(self):
        self.result("//a", "PASSED", PASSING, shard=1)
        self.result("//a", "PASSED", PASSING, shard=2)
        self.assertEqual(self.count(), (["2 passed, 0 failed"], 0))

    def test_last_attempt_counts(self):
        self.result("//a", "FAILED", GTEST, attempt=1)
        self.result("//a", "PASSED", PASSING, attempt=2)
        self.assertEqual(self.count(), (["1 passed, 0 failed"], 0))

    def test_nothing_ran(self):
        self.assertEqual(self.count(4, "NO_TESTS_FOUND"), (["0 passed, 0 failed"], 1))

    def test_bad_end_after_the_last_case(self):
        # A leak found at exit: every case passed, yet the target failed.
        self.result("//a", "FAILED", PASSING)
        self.assertEqual(self.count(3)[0], ["FAILED tests: //a (failed)", "1 passed, 1 failed"])

    def test_timeout_leaves_half_a_file(self):
        self.result("//a", "TIMEOUT", GTEST[:200])
        self.assertEqual(self.count(3)[0], ["FAILED tests: //a (timeout)", "0 passed, 1 failed"])

    def test_target_that_does_not_build(self):
        self.configured("//a")
        self.configured("//b")
        self.completed("//b", False)
        self.completed("//lib", False)
        self.result("//a", "PASSED", PASSING)
        lines, code = self.count(1, "BUILD_FAILURE")
        self.assertEqual(lines[:2], ["FAILED tests: //b (not built)", "FAILED tests: //lib (not built)"])
        self.assertEqual((lines[2], code), ("1 passed, 2 failed", 1))

    def test_bazel_itself_fails(self):
        self.result("//a", "PASSED", PASSING)
        self.assertEqual(self.count(37, "CRASH"), (["FAILED tests: bazel: CRASH", "1 passed, 1 failed"], 1))

    def test_event_file_without_end(self):
        (self.results / "asan.json").write_text("")
        self.result("//a", "PASSED", PASSING)
        self.assertEqual(self.count(), (["FAILED asan: bazel: no end", "1 passed, 1 failed"], 1))

    def test_junit_beside_bazel(self):
        (self.results / "fuzz.xml").write_text(GTEST)
        self.result("//a", "PASSED", PASSING)
        self.assertEqual(self.count(), (["FAILED Reader.Bad", "2 passed, 1 failed, 2 skipped"], 1))


if __name__ == "__main__":
    unittest.main()
