#!/bin/sh
# Runs a Python file of the runfiles; see python.bzl.
PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$@"
