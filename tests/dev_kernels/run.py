#!/usr/bin/env python3
"""Runs the table of tests/dev_kernels over checkouts of the public repositories. See harness.py.

    tests/dev_kernels/run.py --corpus DIR [--tilevm PROGRAM] [--table] [--check] [--device cuda] [NUMBER...]

--table prints the table as Markdown instead of running it. --check runs each launch in checked mode too. Exit code 0 if no entry failed.
"""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

for module in sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))):
    if module.startswith("table_") and module.endswith(".py"):
        __import__(module[:-3])


def print_table():
    print("| # | file | kernel | shapes | dtypes | bound |\n| --- | --- | --- | --- | --- | --- |")
    for entry in sorted(harness.ENTRIES, key=lambda e: (e.number, e.kernel)):
        print(f"| {entry.number} | {entry.path} | `{entry.kernel}` | {entry.shapes} | {entry.dtypes} | {entry.bound} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus")
    parser.add_argument("--tilevm", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tilevm"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto, as tilevm run takes it")
    parser.add_argument("numbers", nargs="*", type=int)
    options = parser.parse_args()
    if options.table:
        return print_table()
    if not options.corpus:
        parser.error("--corpus DIR is needed")
    options.corpus = os.path.abspath(options.corpus)
    passed = failed = 0
    for entry in sorted(harness.ENTRIES, key=lambda e: (e.number, e.kernel)):
        if options.numbers and entry.number not in options.numbers:
            continue
        start = time.time()
        try:
            for seed in (1, 2):
                entry.function(harness.Run(options.tilevm, options.corpus, entry, seed, ["--device", options.device] + (["--check"] if options.check else [])))
            passed += 1
            print(f"{entry.number:3} {entry.kernel}: ok ({time.time() - start:.1f} s)", flush=True)
        except harness.Failure as failure:
            failed += 1
            print(f"{entry.number:3} {entry.kernel}: FAILED: {failure}", flush=True)
        except Exception as error:  # a fault of the entry itself
            failed += 1
            print(f"{entry.number:3} {entry.kernel}: BROKEN ENTRY: {type(error).__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
