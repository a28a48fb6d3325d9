"""python_test: a Python file as a test.

Bazel 4.2's own py_test starts its programs through a command named `python`,
which Debian does not have. This one runs the distribution's python3 from the
root of the runfiles, so that `from tools import count_tests` works.
"""

def python_test(name, src, data = [], args = [], **kwargs):
    """Runs `python3 SRC ARGS`.

    Args:
      name: the target.
      src: the Python file.
      data: the files it imports or reads.
      args: its arguments.
      **kwargs: passed to sh_test.
    """
    native.sh_test(
        name = name,
        srcs = ["@tilevm//tools:python.sh"],
        args = ["$(location %s)" % src] + args,
        data = [src] + data,
        **kwargs
    )
