"""fuzz_test: one libFuzzer target that is an ordinary test everywhere else."""

load("//tools:cc.bzl", "cc_test")

def fuzz_test(name, srcs, deps = [], corpus = [], dictionary = None, **kwargs):
    """A program around LLVMFuzzerTestOneInput.

    `bazel test //room:NAME` replays the corpus once, with any compiler.
    `./test --fuzz=SECONDS` builds it with --config=fuzz, where libFuzzer
    brings the main(), and mutates the corpus for that long.

    Args:
      name: the target, NAME_fuzz by custom.
      srcs: the file that defines LLVMFuzzerTestOneInput.
      deps: what it calls.
      corpus: labels of the seed inputs; a filegroup or a glob.
      dictionary: label of a libFuzzer dictionary, or None.
      **kwargs: passed to cc_test.
    """
    data = corpus + ([dictionary] if dictionary else [])
    cc_test(
        name = name,
        srcs = srcs,
        args = select({
            "@tilevm//third_party:fuzzing": [],
            "//conditions:default": ["$(locations %s)" % label for label in corpus],
        }),
        data = data,
        linkopts = select({
            "@tilevm//third_party:fuzzing": [
                "-fsanitize=fuzzer",
                "-lstdc++",
            ],
            "//conditions:default": [],
        }),
        tags = kwargs.pop("tags", []) + ["fuzz"],
        deps = deps + select({
            "@tilevm//third_party:fuzzing": [],
            "//conditions:default": ["@tilevm//tools:replay_corpus"],
        }),
        **kwargs
    )
