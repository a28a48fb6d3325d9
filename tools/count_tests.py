"""Counts single test cases over all runs of ./test and prints the last line.

    count_tests.py FOLDER

FOLDER holds what the runs left: Bazel's event files (*.json, one event a line,
one file for each `bazel test`) and JUnit files of what Bazel did not run
(*.xml). A GoogleTest program counts once for each of its cases, a case file is
one of them, any other test counts once. A target that could not be built, timed
out or ended badly after its last case counts as one failure. The names of the
failed come first, then "N passed, N failed[, N skipped]". The exit code is 0 if
something passed and nothing failed.
"""

import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

PASSED_STATUS = ("PASSED", "FLAKY")


class Count:
    """The sums, and the names of what failed."""

    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failed = []

    def add_junit(self, path, where):
        """Adds the cases of one JUnit file; returns (cases, failed cases)."""
        cases = failed = 0
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            cases += 1
            name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                self.failed.append(where + name)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                self.skipped += 1
            else:
                self.passed += 1
        return cases, failed

    def add_bazel(self, path):
        """Adds one run of `bazel test`, by its event file."""
        run = "%s: " % path.stem
        results, wanted, broken = {}, set(), set()
        exit_name, exit_code = "no end", 1
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            key = event.get("id", {})
            if "configured" in event and event["configured"].get("testSize"):
                wanted.add(key["targetConfigured"]["label"])
            elif "testResult" in event:
                result = key["testResult"]
                # A later attempt of the same run replaces the earlier one.
                results[result["label"], result.get("run"), result.get("shard")] = event["testResult"]
            elif "completed" in event and not event["completed"].get("success"):
                broken.add(key["targetCompleted"]["label"])
            elif "aborted" in event and ("targetCompleted" in key or "targetConfigured" in key):
                broken.add((key.get("targetCompleted") or key["targetConfigured"])["label"])
            elif "finished" in event:
                exit_name = event["finished"]["exitCode"].get("name", "")
                exit_code = event["finished"]["exitCode"].get("code", 0)

        failures_before = len(self.failed)
        for (label, _, _), result in sorted(results.items(), key=lambda item: str(item[0])):
            self._add_result(run + label, result)
        tested = {label for label, _, _ in results}
        for label in sorted((wanted | broken) - tested):
            self.failed.append(run + label + " (not built)")
        # 4 is "no tests": the total says so. Anything else that is not 0 must show.
        if exit_code not in (0, 4) and len(self.failed) == failures_before:
            self.failed.append(run + "bazel: " + exit_name)

    def _add_result(self, where, result):
        status = result.get("status", "NO_STATUS")
        cases = failed = 0
        for output in result.get("testActionOutput", []):
            path = urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path)
            if output.get("name") == "test.xml" and pathlib.Path(path).is_file():
                try:
                    cases, failed = self.add_junit(path, where + " ")
                except ElementTree.ParseError:
                    pass  # cut off by a crash: the status counts
        if status not in PASSED_STATUS and failed == 0:
            self.failed.append("%s (%s)" % (where, status.lower()))
        elif status in PASSED_STATUS and cases == 0 and not result.get("testActionOutput"):
            self.passed += 1


def main(folder):
    count = Count()
    for path in sorted(pathlib.Path(folder).iterdir()):
        if path.suffix == ".json":
            count.add_bazel(path)
        elif path.suffix == ".xml":
            count.add_junit(path, "")
    for name in count.failed:
        print("FAILED", name)
    line = "%d passed, %d failed" % (count.passed, len(count.failed))
    print(line + (", %d skipped" % count.skipped if count.skipped else ""))
    return 0 if count.passed and not count.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
