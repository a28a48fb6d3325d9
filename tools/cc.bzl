"""cc_library, cc_test and cc_binary as everywhere in this tree: how much a file is optimised, and its precompiled headers (tools/prelude.bzl).

Both belong together: a compiler takes a precompiled header only with the options that it was made with. A target with copts of its own has neither,
unless it says `prelude`: which one, made with the same copts.
"""

# The compiler's time counts more than the program's where a kernel is specialized and its text is made (milliseconds), where Python is run beside kernels,
# and most in tests.
_LITTLE = ["gpu/check", "gpu/compile", "gpu/emit", "specializer/layout", "specializer/partial_eval", "specializer/pipeline", "vm/host"]

# What tests spend their time in under sanitizers (.bazelrc: fuzz_quick, where the rest is not optimised).
_RUN_MOST = ["isa", "vm/interp", "vm/kernels"]

_QUICK = "@tilevm//third_party:quick"

# For those of them that have copts of their own.
RUN_MOST_COPTS = select({
    _QUICK: ["-O1"],
    "//conditions:default": [],
})

# Of programs that parse options: CLI11, which throws, and JSON are headers that take a compiler 15 seconds a file.
CLI_COPTS = ["-fexceptions"] + select({
    _QUICK: [],
    "//conditions:default": ["-O1"],
})

def _is_in(packages):
    package = native.package_name() + "/"
    return bool([p for p in packages if package.startswith(p + "/")])

def _options(prelude, options):
    # The whole path: clang does not look for what is precompiled where it looks for headers.
    repository = native.repository_name()[1:]
    folder = "$(BINDIR)/" + ("external/" + repository + "/" if repository else "") + "tools/"
    return options + ["-include", folder + prelude + ".h", "-Winvalid-pch", "-Wno-error=invalid-pch"]

def _with_prelude(kwargs):
    if "prelude" in kwargs:
        prelude = kwargs.pop("prelude")
        kwargs["copts"] = kwargs["copts"] + _options(prelude, [])
        kwargs["deps"] = kwargs.get("deps", []) + ["@tilevm//tools:" + prelude]
        return kwargs
    srcs = kwargs.get("srcs", [])
    files = [src for src in srcs if src.endswith(".cc")]
    tests = [src for src in files if src.endswith("_test.cc")]
    if "copts" in kwargs or not files or [src for src in srcs if not src.endswith(".cc") and not src.endswith(".h")]:
        return kwargs
    if files == tests:
        usual = ("test_prelude", ["-O0", "-U_FORTIFY_SOURCE"])
        quick = usual
    else:
        usual = ("prelude_o1", ["-O1"]) if _is_in(_LITTLE) else ("prelude", [])
        quick = ("prelude_o1", ["-O1"]) if _is_in(_RUN_MOST) else ("prelude", [])
    kwargs["copts"] = select({
        _QUICK: _options(*quick),
        "//conditions:default": _options(*usual),
    })
    kwargs["deps"] = kwargs.get("deps", []) + select({
        _QUICK: ["@tilevm//tools:" + quick[0]],
        "//conditions:default": ["@tilevm//tools:" + usual[0]],
    })
    return kwargs

def generator_sources():
    """All that the text of a kernel is made by in this package: //gpu/compile:generator_version."""
    native.filegroup(
        name = "generator_sources",
        srcs = native.glob(
            ["*.cc", "*.h", "*.def"],
            exclude = ["*_test.cc", "*_fuzz.cc"],
        ),
    )

def cc_library(**kwargs):
    native.cc_library(**_with_prelude(kwargs))

def cc_test(**kwargs):
    native.cc_test(**_with_prelude(kwargs))

def cc_binary(**kwargs):
    native.cc_binary(**_with_prelude(kwargs))
