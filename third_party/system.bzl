"""The distribution's C++ libraries as Bazel repositories.

Headers are found on the compiler's own include path, so a target of these
repositories carries link options and no files: nothing under /usr is globbed
or watched. Libraries are taken as static archives wherever there is one, so
that the linked program runs on a machine without them.
"""

_LIBRARIES = [
    "absl",
    "benchmark",
    "cli11",
    "gtest",
    "nlohmann_json",
    "sodium",
    "xxhash",
    "zstd",
]

def system_libraries():
    """Declares one repository for each system library; called from a WORKSPACE."""
    for name in _LIBRARIES:
        if not native.existing_rule(name):
            native.new_local_repository(
                name = name,
                path = "/usr",
                build_file = "@tilevm//third_party:%s.BUILD" % name,
            )
